/*
summary: place of each unit within its stratum, from 0, in the order of the hashes
*/
SELECT
    placed.slice,
    placed.repeat,
    placed.place,
    strata.units,
    strata.units_before,
    strata.all_units
FROM (
    -- One number stands for repeat and stratum, and no other column is kept, because DuckDB sorts
    -- by this number and the digest at once, and takes twice as long with more columns.
    SELECT
        slice,
        repeat,
        stratum_number,
        ROW_NUMBER() OVER (PARTITION BY part ORDER BY digest) - 1 AS place
    FROM (
        SELECT
            hashes.slice,
            hashes.repeat,
            hashes.digest,
            strata.stratum_number,
            CAST(hashes.repeat * strata.all_strata + strata.stratum_number AS BIGINT) AS part
        FROM hashes
        JOIN strata USING (stratum)
    ) AS parts
) AS placed
JOIN strata USING (stratum_number)
