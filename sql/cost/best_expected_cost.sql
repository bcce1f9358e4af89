/*
summary: >-
  smallest expected cost over all thresholds, including the one that predicts nothing positive
formula: min over t of p FNR(t) cost_fn + (1 - p) FPR(t) cost_fp
direction: lower
range: 0 .. inf
params:
  prior: float in (0, 1) = null
reference: sklearn.metrics.confusion_matrix_at_thresholds # min of the mean cost
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    LEAST(MIN(cost), MAX(cost_of_nothing)) AS value,
    CASE
        WHEN $prior IS NOT NULL AND MAX(total_positives) = 0 THEN 'no positive labels'
        WHEN $prior IS NOT NULL AND MAX(total_negatives) = 0 THEN 'no negative labels'
        WHEN COALESCE(MAX(total_positives + total_negatives), 0) = 0 THEN 'total weight is 0'
    END AS note
FROM expected_costs
GROUP BY slice
