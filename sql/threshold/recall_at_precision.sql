/*
summary: largest recall among the thresholds with at least a given precision
formula: max of recall(t) over t with precision(t) >= precision
direction: higher
range: 0 .. 1
params:
  precision: float in [0, 1] = 0.8
reference: sklearn.metrics.precision_recall_curve # max of recall where precision is reached
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
        WHEN tp + fp > 0 AND tp >= $precision * (tp + fp) * (1e0 - 1e-12)
        THEN CAST(tp AS DOUBLE) / NULLIF(total_positives, 0)
    END) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN COUNT(CASE
            WHEN tp + fp > 0 AND tp >= $precision * (tp + fp) * (1e0 - 1e-12) THEN 1
        END) = 0
        THEN 'no threshold reaches the precision'
    END AS note
FROM cutoffs
GROUP BY slice
