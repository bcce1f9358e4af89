/*
summary: share of predicted negatives that are negative
formula: tn / (tn + fn)
direction: higher
range: 0 .. 1
expectation: exact
reference: sklearn.metrics.precision_score # of the negative class, pos_label=0
aliases: [npv]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(tn AS DOUBLE) / NULLIF(tn + fn, 0) AS value,
    tn AS successes,
    tn + fn AS trials,
    tn_squares AS squared_successes,
    tn_squares + fn_squares AS squared_trials,
    CASE WHEN tn + fn = 0 THEN 'no predicted negatives' END AS note
FROM outcomes
