/*
summary: largest precision among the thresholds with at least a given recall
formula: max of precision(t) over t with recall(t) >= recall
direction: higher
range: 0 .. 1
params:
  recall: float in [0, 1] = 0.8
reference: sklearn.metrics.precision_recall_curve # max of precision where recall is reached
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    MAX(CASE
        -- Compare with slightly less, because sums of real-valued weights over the same rows may
        -- differ by rounding.
        WHEN total_positives > 0 AND tp >= $recall * total_positives * (1e0 - 1e-12)
        THEN CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0)
    END) AS value,
    CASE WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels' END AS note
FROM cutoffs
GROUP BY slice
