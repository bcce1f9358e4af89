/*
summary: mean recall over the classes that occur as labels
formula: mean over classes of matched / actual
direction: higher
range: 0 .. 1
interval: delta
reference: sklearn.metrics.balanced_accuracy_score
aliases: [balanced_accuracy_score]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    AVG(CAST(matched AS DOUBLE) / NULLIF(actual, 0)) AS value,
    CASE WHEN SUM(actual) = 0 THEN 'total weight is 0' END AS note
FROM class_counts
GROUP BY slice
