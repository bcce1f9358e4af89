/*
summary: root of the mean squared difference of the logarithms of 1 + prediction and 1 + label
formula: sqrt(mean((ln(1 + p) - ln(1 + y))^2))
direction: lower
range: 0 .. inf
interval: delta
reference: sklearn.metrics.root_mean_squared_log_error
aliases: [root_mean_squared_log_error, neg_root_mean_squared_log_error]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    SQRT(
        CAST(SUM(weight * squared_log_error) AS DOUBLE)
            / NULLIF(CASE WHEN SUM(weight * is_outside) = 0 THEN SUM(weight) END, 0)
    ) AS value,
    CASE
        WHEN SUM(weight) = 0 THEN 'total weight is 0'
        WHEN SUM(weight * is_outside) > 0 THEN 'a label or prediction is -1 or less'
    END AS note
FROM log_errors
GROUP BY slice
