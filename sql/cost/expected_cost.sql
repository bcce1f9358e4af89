/*
summary: >-
  expected cost per row at the share of positives in deployment (prior, by default the sample's
  share)
formula: p FNR cost_fn + (1 - p) FPR cost_fp
direction: lower
range: 0 .. inf
params:
  cost_fn: float in (0, inf) = 1.0
  cost_fp: float in (0, inf) = 1.0
  prior: float in (0, 1) = null
interval: delta
reference: Drummond and Holte (2006), doi:10.1007/s10994-006-8199-5
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CASE
        WHEN $prior IS NULL
        THEN CAST($cost_fn * fn + $cost_fp * fp AS DOUBLE) / NULLIF(tp + fp + fn + tn, 0)
        ELSE
            $prior * $cost_fn * (CAST(fn AS DOUBLE) / NULLIF(tp + fn, 0))
            + (1e0 - $prior) * $cost_fp * (CAST(fp AS DOUBLE) / NULLIF(fp + tn, 0))
    END AS value,
    CASE
        WHEN $prior IS NOT NULL AND tp + fn = 0 THEN 'no positive labels'
        WHEN $prior IS NOT NULL AND fp + tn = 0 THEN 'no negative labels'
        WHEN tp + fp + fn + tn = 0 THEN 'total weight is 0'
    END AS note
FROM outcomes
