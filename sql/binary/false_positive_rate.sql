/*
summary: share of negatives that are predicted positive
formula: fp / (fp + tn)
direction: lower
range: 0 .. 1
reference: sklearn.metrics.confusion_matrix_at_thresholds # fp / (fp + tn)
aliases: [fall_out, false_alarm_rate, fpr]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(fp AS DOUBLE) / NULLIF(fp + tn, 0) AS value,
    fp AS successes,
    fp + tn AS trials,
    fp_squares AS squared_successes,
    fp_squares + tn_squares AS squared_trials,
    CASE WHEN fp + tn = 0 THEN 'no negative labels' END AS note
FROM outcomes
