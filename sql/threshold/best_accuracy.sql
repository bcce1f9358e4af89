/*
summary: largest accuracy over all thresholds, including the one that predicts nothing positive
formula: max over t of (tp + tn) / all
direction: higher
range: 0 .. 1
reference: sklearn.metrics.metric_at_thresholds # with accuracy_score
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    CAST(GREATEST(MAX(tp + total_negatives - fp), MAX(total_negatives)) AS DOUBLE)
        / NULLIF(MAX(total_positives + total_negatives), 0) AS value,
    CASE WHEN COALESCE(SUM(positives + negatives), 0) = 0 THEN 'total weight is 0' END AS note
FROM cutoffs
GROUP BY slice
