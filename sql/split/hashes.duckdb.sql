/*
summary: the same number, read from the digits at once
params:
  repeats: series in [1, 10000] = 1
  seed: int = 0
*/
SELECT
    slice,
    repeat,
    stratum,
    members,
    digest,
    CAST('0x' || SUBSTRING(digest, 1, 13) AS BIGINT) * 2220446049250313e-31 AS share
FROM (
    SELECT
        units.slice,
        repeats.i AS repeat,
        units.stratum,
        units.members,
        MD5(
            CAST($seed AS VARCHAR) || ':' || CAST(repeats.i AS VARCHAR) || ':' || units.text
        ) AS digest
    FROM units
    CROSS JOIN repeats
) AS hashed
