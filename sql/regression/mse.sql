/*
summary: mean squared error
formula: sum(w (prediction - label)^2) / sum(w); with normalize=false the sum alone, for w = p(x) dx on a grid
direction: lower
range: 0 .. inf
params:
  normalize: bool = true
reference: sklearn.metrics.mean_squared_error
aliases: [mean_squared_error, neg_mean_squared_error]
task: regression
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * squared_error) AS DOUBLE)
        / NULLIF(CASE WHEN $normalize THEN SUM(weight) WHEN SUM(weight) > 0 THEN 1 END, 0) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM errors
WHERE weight > 0
GROUP BY slice
