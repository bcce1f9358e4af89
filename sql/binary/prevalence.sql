/*
summary: share of rows that are positive
formula: positives / all
direction: none
range: 0 .. 1
reference: numpy.average
aliases: [base_rate]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS successes,
    SUM(weight) AS trials,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM predictions
GROUP BY slice
