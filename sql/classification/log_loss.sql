/*
summary: mean negative log-likelihood of the labels under the predicted probabilities
formula: -mean(ln p(label))
direction: lower
range: 0 .. inf
domain: "score: 0 .. 1"
expectation: exact
reference: sklearn.metrics.log_loss
aliases: [cross_entropy, logloss, neg_log_loss]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * loss) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM log_losses
WHERE weight > 0
GROUP BY slice
