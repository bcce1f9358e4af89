/*
summary: the same from bins of scores, which know where the equal widths end but not the equal masses
params:
  strategy: str in {uniform, quantile} = uniform
unbinned: strategy=quantile
*/
SELECT
    slice,
    number,
    SUM(weight) AS n,
    SUM(weight * label) AS positives,
    SUM(weight * p) AS score_sum
FROM calibration_places
WHERE $strategy = 'uniform'
GROUP BY
    slice,
    number
