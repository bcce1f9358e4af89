/*
summary: >-
  time in k + 1 blocks; each block except the first tests a model of the rows in a window before it,
  without the rows in the gap
formula: "train: test_start - gap - window <= time < test_start - gap"
params:
  gap: float in [0, inf) = 0
  window: float in (0, inf) = null
reference: sklearn.model_selection.TimeSeriesSplit
since: 0.1.0
*/
SELECT
    slice,
    1 AS repeat,
    fold,
    part AS role
FROM windowed
WHERE time >= test_start - $gap - $window
