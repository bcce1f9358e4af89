/*
summary: >-
  time in k + 1 blocks; each block except the first tests a model of all rows before it, without the
  rows in the gap
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
