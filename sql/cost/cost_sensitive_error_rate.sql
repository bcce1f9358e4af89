/*
summary: mean cost per row, with cost_fn for a missed positive and cost_fp for a false alarm
formula: (fn cost_fn + fp cost_fp) / all
direction: lower
range: 0 .. inf
params:
  cost_fn: float in (0, inf) = 1.0
  cost_fp: float in (0, inf) = 1.0
interval: delta
reference: sklearn.metrics.confusion_matrix # weighted by the costs
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST($cost_fn * fn + $cost_fp * fp AS DOUBLE) / NULLIF(tp + fp + fn + tn, 0) AS value,
    CASE
        WHEN tp + fp + fn + tn = 0 THEN 'total weight is 0'
    END AS note
FROM outcomes
