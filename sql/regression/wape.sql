/*
summary: sum of the absolute errors, divided by that of the absolute labels; a share, not per cent
formula: sum(w |p - y|) / sum(w |y|)
direction: lower
range: 0 .. inf
interval: delta
reference: sklearn.metrics.mean_absolute_error # over the mean of the absolute labels
aliases: [weighted_absolute_percentage_error, weighted_mape]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(SUM(weight * absolute_error) AS DOUBLE) / NULLIF(SUM(weight * absolute_label), 0) AS value,
    CASE
        WHEN SUM(weight) = 0 THEN 'total weight is 0'
        WHEN SUM(weight * absolute_label) = 0 THEN 'all labels are 0'
    END AS note
FROM relative_errors
WHERE weight > 0
GROUP BY slice
