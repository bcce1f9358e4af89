/*
summary: each unit with the 65,536th part of the hashes that its own lies in
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
