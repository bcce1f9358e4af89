/*
summary: share of negatives that are predicted negative
formula: tn / (tn + fp)
direction: higher
range: 0 .. 1
reference: sklearn.metrics.recall_score # of the negative class, pos_label=0
aliases: [selectivity, tnr, true_negative_rate]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(tn AS DOUBLE) / NULLIF(tn + fp, 0) AS value,
    tn AS successes,
    tn + fp AS trials,
    tn_squares AS squared_successes,
    fp_squares + tn_squares AS squared_trials,
    CASE WHEN tn + fp = 0 THEN 'no negative labels' END AS note
FROM outcomes
