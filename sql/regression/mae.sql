/*
summary: mean absolute error
formula: mean(|prediction - label|)
direction: lower
range: 0 .. inf
reference: sklearn.metrics.mean_absolute_error
aliases: [mean_absolute_error, neg_mean_absolute_error]
task: regression
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * absolute_error) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM errors
WHERE weight > 0
GROUP BY slice
