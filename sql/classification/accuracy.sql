/*
summary: share of rows whose prediction equals the label
formula: sum(w [right]) / sum(w); with normalize=false the sum alone, for w = p(x) dx on a grid
direction: higher
range: 0 .. 1
params:
  normalize: bool = true
expectation: exact
test: mcnemar
no_information: no_information_error_rate
reference: sklearn.metrics.accuracy_score
aliases: [accuracy_score]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(matched) AS DOUBLE)
        / NULLIF(CASE WHEN $normalize THEN SUM(actual) WHEN SUM(actual) > 0 THEN 1 END, 0) AS value,
    SUM(matched) AS successes,
    CASE WHEN $normalize THEN SUM(actual) END AS trials,
    SUM(matched_squares) AS squared_successes,
    SUM(matched_squares + missed_squares) AS squared_trials,
    CASE WHEN SUM(actual) = 0 THEN 'total weight is 0' END AS note
FROM class_counts
GROUP BY slice
