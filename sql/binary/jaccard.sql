/*
summary: true positives as a share of all rows that are positive or predicted positive
formula: tp / (tp + fp + fn)
direction: higher
range: 0 .. 1
reference: sklearn.metrics.jaccard_score
aliases: [critical_success_index, iou, jaccard_index, jaccard_score, threat_score]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(tp AS DOUBLE) / NULLIF(tp + fp + fn, 0) AS value,
    tp AS successes,
    tp + fp + fn AS trials,
    tp_squares AS squared_successes,
    tp_squares + fp_squares + fn_squares AS squared_trials,
    CASE WHEN tp + fp + fn = 0 THEN 'no positive labels and no predicted positives' END AS note
FROM outcomes
