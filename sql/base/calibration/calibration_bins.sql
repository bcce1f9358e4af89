/*
summary: >-
  per bin: rows, squared weights, positives and the sum of probabilities; bins of equal width, each without its lower
  edge, or of equal mass, as in scikit-learn's calibration_curve
params:
  strategy: str in {uniform, quantile} = uniform
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
UNION ALL
SELECT
    slice,
    number,
    n,
    squared_weights,
    positives,
    score_sum
FROM quantile_bins
WHERE $strategy = 'quantile'
