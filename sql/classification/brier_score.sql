/*
summary: mean squared distance between the probability of the positive class and the label
formula: mean((p - y)^2)
direction: lower
range: 0 .. 1
domain: "score: 0 .. 1"
expectation: exact
no_information: no_information_brier_score
reference: sklearn.metrics.brier_score_loss
aliases: [brier, brier_score_loss, neg_brier_score]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * squared_error) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM probabilities
WHERE weight > 0
GROUP BY slice
