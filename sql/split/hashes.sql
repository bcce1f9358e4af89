/*
summary: >-
  a number for each unit and repeat that depends on nothing but the seed, the repeat and the
  unit's key: the MD5 of their texts, and its first 13 hexadecimal digits as a share of 1
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
    -- 52 bits, which a double holds exactly; digit by digit, as no two engines read hexadecimals
    -- in the same way.
    (STRPOS('0123456789abcdef', SUBSTRING(digest, 1, 1)) - 1) * POWER(16e0, -1)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 2, 1)) - 1) * POWER(16e0, -2)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 3, 1)) - 1) * POWER(16e0, -3)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 4, 1)) - 1) * POWER(16e0, -4)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 5, 1)) - 1) * POWER(16e0, -5)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 6, 1)) - 1) * POWER(16e0, -6)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 7, 1)) - 1) * POWER(16e0, -7)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 8, 1)) - 1) * POWER(16e0, -8)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 9, 1)) - 1) * POWER(16e0, -9)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 10, 1)) - 1) * POWER(16e0, -10)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 11, 1)) - 1) * POWER(16e0, -11)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 12, 1)) - 1) * POWER(16e0, -12)
    + (STRPOS('0123456789abcdef', SUBSTRING(digest, 13, 1)) - 1) * POWER(16e0, -13) AS share
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
