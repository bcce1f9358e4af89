/*
summary: >-
  time in k + 1 blocks; each but the first is tested by a model of all rows before it, but for a
  gap between
formula: "train: time < test_start - gap"
reference: sklearn.model_selection.TimeSeriesSplit
since: 0.1.0
*/
SELECT
    slice,
    1 AS repeat,
    fold,
    part AS role
FROM windowed
