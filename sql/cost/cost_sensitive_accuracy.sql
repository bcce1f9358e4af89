/*
summary: >-
  accuracy with each row weighted by the cost of its error: the share of the avoidable cost that is
  avoided
formula: (tp cost_fn + tn cost_fp) / (P cost_fn + N cost_fp)
direction: higher
range: 0 .. 1
params:
  cost_fn: float in (0, inf) = 1.0
  cost_fp: float in (0, inf) = 1.0
interval: delta
reference: sklearn.metrics.accuracy_score # sample_weight= the cost of each row's error
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST($cost_fn * tp + $cost_fp * tn AS DOUBLE)
        / NULLIF($cost_fn * (tp + fn) + $cost_fp * (fp + tn), 0) AS value,
    CASE
        WHEN tp + fp + fn + tn = 0 THEN 'total weight is 0'
    END AS note
FROM outcomes
