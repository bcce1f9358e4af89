/*
summary: share of rows whose prediction differs from the label
formula: sum(w [wrong]) / sum(w) = 1 - accuracy; with normalize=false the sum alone, for w = p(x) dx on a grid
direction: lower
range: 0 .. 1
params:
  normalize: bool = true
expectation: exact
test: mcnemar
row_value: CASE WHEN label = prediction THEN 0e0 ELSE 1e0 END
no_information: no_information_error_rate
reference: sklearn.metrics.zero_one_loss
aliases: [misclassification_rate, zero_one_loss]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST((SUM(actual) - SUM(matched)) AS DOUBLE)
        / NULLIF(CASE WHEN $normalize THEN SUM(actual) WHEN SUM(actual) > 0 THEN 1 END, 0) AS value,
    (SUM(actual) - SUM(matched)) AS successes,
    CASE WHEN $normalize THEN SUM(actual) END AS trials,
    SUM(missed_squares) AS squared_successes,
    SUM(matched_squares + missed_squares) AS squared_trials,
    CASE WHEN SUM(actual) = 0 THEN 'total weight is 0' END AS note
FROM class_counts
GROUP BY slice
