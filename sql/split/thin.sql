/*
summary: each unit with the number of its bucket of hashes (one of 65,536)
*/
SELECT
    hashes.slice,
    hashes.repeat,
    hashes.digest,
    strata.stratum_number,
    CAST(hashes.repeat * strata.all_strata + strata.stratum_number AS BIGINT) AS part,
    CAST(FLOOR(hashes.share * 65536e0) AS INT) AS bucket
FROM hashes
JOIN strata USING (stratum)
