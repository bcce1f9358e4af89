/*
summary: largest F-beta over all thresholds
formula: max over t of (1 + beta^2) tp / (beta^2 P + tp + fp)
direction: higher
range: 0 .. 1
params:
  beta: float in (0, 1e50] = 1.0 # its square must not overflow
reference: sklearn.metrics.metric_at_thresholds # with fbeta_score
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    CASE WHEN SUM(positives) > 0
        THEN MAX(CAST((1e0 + $beta * $beta) * tp AS DOUBLE)
            / NULLIF($beta * $beta * total_positives + tp + fp, 0))
    END AS value,
    CASE WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels' END AS note
FROM cutoffs
GROUP BY slice
