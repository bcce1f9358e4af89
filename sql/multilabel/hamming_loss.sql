/*
summary: share of a row's labels that are predicted wrongly; the mean over rows
formula: (fp + fn) / (tp + fp + fn + tn)
direction: lower
range: 0 .. 1
reference: sklearn.metrics.hamming_loss
task: many labels
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(fp + fn AS DOUBLE) / NULLIF(tp + fp + fn + tn, 0) AS value
FROM outcomes
