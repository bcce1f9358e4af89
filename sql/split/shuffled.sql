/*
summary: the place of each unit within its stratum, from 0, in the order of the hashes
*/
SELECT
    hashes.slice,
    hashes.repeat,
    hashes.share,
    ROW_NUMBER() OVER (PARTITION BY hashes.repeat, hashes.stratum ORDER BY hashes.digest) - 1 AS place,
    strata.units,
    strata.units_before,
    strata.all_units
FROM hashes
JOIN strata USING (stratum)
