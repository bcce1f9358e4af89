/*
summary: >-
  a hash per unit and repeat that depends only on the seed, the repeat and the unit's key: the last
  eight bytes of the MD5 of their text, last byte first, in hexadecimal; share is its first 13
  digits as a number in [0, 1)
*/
SELECT
    slice,
    repeat,
    stratum,
    members,
    digest,
    -- 52 bits, which a double holds exactly. They are read digit by digit, because engines read
    -- hexadecimal in different ways.
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
        slice,
        repeat,
        stratum,
        members,
        SUBSTRING(md5, 31, 2) || SUBSTRING(md5, 29, 2) || SUBSTRING(md5, 27, 2)
        || SUBSTRING(md5, 25, 2) || SUBSTRING(md5, 23, 2) || SUBSTRING(md5, 21, 2)
        || SUBSTRING(md5, 19, 2) || SUBSTRING(md5, 17, 2) AS digest
    FROM (
        SELECT
            slice,
            repeat,
            stratum,
            members,
            MD5(whole_text) AS md5
        FROM texts
    ) AS hashed
) AS turned
