/*
summary: largest difference between true and false positive rate over all thresholds
formula: max over t of tpr(t) - fpr(t), and 0
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_curve # max(tpr - fpr)
task: two classes
weights: frequency
bound: distance
units: runs
since: 0.1.0
*/
SELECT
    slice,
    -- Use a common denominator, because the difference of two rates is rounded even where the
    -- counts are equal.
    GREATEST(
        MAX(CAST(tp AS DOUBLE) * total_negatives - CAST(fp AS DOUBLE) * total_positives)
            / NULLIF(CAST(SUM(positives) AS DOUBLE) * SUM(negatives), 0),
        CASE WHEN SUM(positives) > 0 AND SUM(negatives) > 0 THEN 0e0 END
    ) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM cutoffs
GROUP BY slice
