/*
summary: share of rows whose prediction is not the label
formula: wrong / all = 1 - accuracy
direction: lower
range: 0 .. 1
reference: sklearn.metrics.zero_one_loss
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST((SUM(actual) - SUM(matched)) AS DOUBLE) / NULLIF(SUM(actual), 0) AS value,
    (SUM(actual) - SUM(matched)) AS successes,
    SUM(actual) AS trials,
    CASE WHEN SUM(actual) = 0 THEN 'total weight is 0' END AS note
FROM class_counts
GROUP BY slice
