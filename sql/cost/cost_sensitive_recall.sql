/*
summary: >-
  recall with each row weighted by the cost of its error; equal to recall, because all positives
  cost the same
formula: tp cost_fn / (tp cost_fn + fn cost_fn) = recall
direction: higher
range: 0 .. 1
params:
  cost_fn: float in (0, inf) = 1.0
reference: sklearn.metrics.recall_score # sample_weight= the cost of each row's error
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST($cost_fn * tp AS DOUBLE) / NULLIF($cost_fn * tp + $cost_fn * fn, 0) AS value,
    tp AS successes,
    tp + fn AS trials,
    tp_squares AS squared_successes,
    tp_squares + fn_squares AS squared_trials,
    CASE
        WHEN tp + fn = 0 THEN 'no positive labels'
    END AS note
FROM outcomes
