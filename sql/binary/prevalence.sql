/*
summary: share of rows that are positive
formula: positives / all
direction: none
range: 0 .. 1
expectation: exact
reference: numpy.average
aliases: [base_rate]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(positives) AS DOUBLE) / NULLIF(SUM(total), 0) AS value,
    SUM(positives) AS successes,
    SUM(total) AS trials,
    SUM(positive_squares) AS squared_successes,
    SUM(total_squares) AS squared_trials,
    CASE WHEN SUM(total) = 0 THEN 'total weight is 0' END AS note
FROM label_counts
GROUP BY slice
