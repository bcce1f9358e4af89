/*
summary: share of predicted positives that are positive
formula: tp / (tp + fp)
direction: higher
range: 0 .. 1
expectation: exact
reference: sklearn.metrics.precision_score
aliases: [positive_predictive_value, ppv, precision_score]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0) AS value,
    tp AS successes,
    tp + fp AS trials,
    tp_squares AS squared_successes,
    tp_squares + fp_squares AS squared_trials,
    CASE WHEN tp + fp = 0 THEN 'no predicted positives' END AS note
FROM outcomes
