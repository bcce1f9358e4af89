/*
summary: share of positives that are predicted positive
formula: tp / (tp + fn)
direction: higher
range: 0 .. 1
reference: sklearn.metrics.recall_score
aliases: [hit_rate, recall_score, sensitivity, tpr, true_positive_rate]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(tp AS DOUBLE) / NULLIF(tp + fn, 0) AS value,
    tp AS successes,
    tp + fn AS trials,
    tp_squares AS squared_successes,
    tp_squares + fn_squares AS squared_trials,
    CASE WHEN tp + fn = 0 THEN 'no positive labels' END AS note
FROM outcomes
