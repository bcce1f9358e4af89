/*
summary: >-
  hashes as numbers of 64 bits: DuckDB reads the bytes from the last to the first, and sorts numbers
  in half the time of texts
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
        slice,
        repeat,
        stratum,
        members,
        CAST(MD5_NUMBER(whole_text) >> 64 AS UBIGINT) AS digest
    FROM texts
) AS hashed
