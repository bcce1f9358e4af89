/*
summary: largest absolute error
formula: max(|p - y|)
direction: lower
range: 0 .. inf
interval: none
reference: sklearn.metrics.max_error
aliases: [neg_max_error]
task: regression
weights: frequency
unbinned: always
since: 0.2.0
*/
SELECT
    slice,
    MAX(absolute_error) AS value
FROM errors
WHERE weight > 0
GROUP BY slice
