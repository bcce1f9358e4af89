/*
summary: root of the mean squared error
formula: sqrt(mean((prediction - label)^2))
direction: lower
range: 0 .. inf
interval: delta
reference: sklearn.metrics.root_mean_squared_error
aliases: [neg_root_mean_squared_error, root_mean_squared_error]
task: regression
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    SQRT(
        CAST(SUM(weight * squared_error) AS DOUBLE) / NULLIF(SUM(weight), 0)
    ) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM errors
GROUP BY slice
