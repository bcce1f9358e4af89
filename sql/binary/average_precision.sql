/*
summary: >-
  mean precision over the positives, each taken at its own score; the area under the
  precision-recall curve as a step function
formula: sum over thresholds of (recall_i - recall_(i-1)) precision_i
direction: higher
range: 0 .. 1
interval: delta
reference: sklearn.metrics.average_precision_score
aliases: [average_precision_score]
task: two classes
weights: frequency
bound: precision
units: runs
since: 0.1.0
*/
SELECT
    slice,
    SUM(positives * (CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0)))
        / NULLIF(SUM(positives), 0) AS value,
    CASE WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels' END AS note
FROM cutoffs
GROUP BY slice
