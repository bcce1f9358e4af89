/*
summary: >-
  predicted over observed positives: the sum of the probabilities divided by the number of positives
formula: sum(p) / sum(y)
direction: none
range: 0 .. inf
domain: "score: 0 .. 1"
interval: delta
expectation: none
reference: numpy.average # of the scores over that of the labels
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * p) AS DOUBLE)
        / NULLIF(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END), 0) AS value,
    CASE WHEN SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) = 0 THEN 'no positive labels' END AS note
FROM probabilities
GROUP BY slice
