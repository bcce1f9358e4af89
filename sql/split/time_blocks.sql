/*
summary: times in k + 1 blocks with about equally many rows, numbered from 0
params:
  n_splits: series in [1, 10000] = 10
*/
SELECT
    time,
    CAST(
        FLOOR(CAST(units_before AS DOUBLE) * ($n_splits + 1) / NULLIF(all_units, 0)) AS BIGINT
    ) AS block
FROM timeline
