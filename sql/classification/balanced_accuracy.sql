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
    -- The variance of a mean of independent binomial shares.
    SQRT(SUM(CAST(matched AS DOUBLE) * missed / NULLIF(POWER(CAST(actual AS DOUBLE), 3), 0)))
        / NULLIF(COUNT(NULLIF(actual, 0)), 0) AS stderr,
    MIN(CASE WHEN actual > 0 THEN LEAST(matched, missed) END) AS support,
    CASE WHEN SUM(actual) = 0 THEN 'total weight is 0' END AS note
FROM class_counts
GROUP BY slice
