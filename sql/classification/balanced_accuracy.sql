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
    -- The variance of a mean of independent shares, each linearised for weights: that of a share of
    -- counts is matched missed / actual^3.
    SQRT(SUM(
        (
            matched_squares * POWER(CAST(missed AS DOUBLE) / NULLIF(actual, 0), 2)
            + missed_squares * POWER(CAST(matched AS DOUBLE) / NULLIF(actual, 0), 2)
        ) / NULLIF(POWER(CAST(actual AS DOUBLE), 2), 0)
    )) / NULLIF(COUNT(NULLIF(actual, 0)), 0) AS stderr,
    -- The effective numbers of rows, (sum w)^2 / sum w^2.
    MIN(CASE
        WHEN actual > 0
        THEN LEAST(
            COALESCE(1e0 * matched * matched / NULLIF(matched_squares, 0), 0e0),
            COALESCE(1e0 * missed * missed / NULLIF(missed_squares, 0), 0e0)
        )
    END) AS support,
    CASE WHEN SUM(actual) = 0 THEN 'total weight is 0' END AS note
FROM class_counts
GROUP BY slice
