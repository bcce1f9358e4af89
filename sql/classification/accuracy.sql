/*
summary: share of rows whose prediction is the label
formula: correct / all
direction: higher
range: 0 .. 1
reference: sklearn.metrics.accuracy_score
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(matched) AS DOUBLE) / NULLIF(SUM(actual), 0) AS value,
    SUM(matched) AS successes,
    SUM(actual) AS trials,
    CASE WHEN SUM(actual) = 0 THEN 'total weight is 0' END AS note
FROM class_counts
GROUP BY slice
