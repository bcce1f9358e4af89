/*
summary: precision with each row weighted by the cost of its error
formula: tp cost_fn / (tp cost_fn + fp cost_fp)
direction: higher
range: 0 .. 1
params:
  cost_fn: float in (0, inf) = 1.0
  cost_fp: float in (0, inf) = 1.0
interval: delta
reference: sklearn.metrics.precision_score # sample_weight= the cost of each row's error
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST($cost_fn * tp AS DOUBLE) / NULLIF($cost_fn * tp + $cost_fp * fp, 0) AS value,
    CASE
        WHEN tp + fp = 0 THEN 'no predicted positives'
    END AS note
FROM outcomes
