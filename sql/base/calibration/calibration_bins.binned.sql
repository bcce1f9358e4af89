/*
summary: >-
  calibration_bins from binned scores, which can make bins of equal width but not of equal mass
params:
  strategy: str in {uniform, quantile} = uniform
unbinned: strategy=quantile
*/
SELECT
    slice,
    number,
    n,
    squared_weights,
    positives,
    score_sum
FROM uniform_bins
WHERE $strategy = 'uniform'
