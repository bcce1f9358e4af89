/*
summary: >-
  the same as a number of 64 bits: DuckDB reads the bytes from the last to the first, and sorts
  numbers in half the time of texts
*/
SELECT
    slice,
    repeat,
    stratum,
    members,
    digest,
    CAST(digest >> 12 AS BIGINT) * POWER(2e0, -52) AS share
FROM (
    SELECT
        units.slice,
        prefixes.repeat,
        units.stratum,
        units.members,
        CAST(
            MD5_NUMBER(
                prefixes.prefix || units.text
            ) >> 64 AS UBIGINT
        ) AS digest
    FROM units
    CROSS JOIN prefixes
) AS hashed
