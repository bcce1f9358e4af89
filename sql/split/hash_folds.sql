/*
summary: fold of each unit, from its hash
params:
  n_splits: series in [2, 10000] = 10
*/
SELECT
    slice,
    repeat,
    1 + CAST(FLOOR(share * $n_splits) AS BIGINT) AS fold
FROM hashes
