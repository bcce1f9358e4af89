/*
summary: mean negative log-likelihood of the labels under the predicted probabilities
formula: -mean(ln p(label))
direction: lower
range: 0 .. inf
domain: "score: 0 .. 1"
reference: sklearn.metrics.log_loss
aliases: [cross_entropy, logloss, neg_log_loss]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * loss) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    -- Covariances are computed around the mean; sum(w x^2) - sum(w x)^2 / sum(w) would cancel where
    -- the mean is large beside the deviation. Rows of weight 0 must not move that mean.
    SQRT(
        GREATEST(
            SUM(weight * loss_variance)
                + COUNT(*) * (
                    COVAR_POP(weight * loss, loss)
                    - AVG(loss) * COVAR_POP(weight, loss)
                )
                - POWER(COUNT(*) * COVAR_POP(weight, loss), 2) / NULLIF(SUM(weight), 0),
            0e0
        ) / NULLIF(GREATEST(SUM(weight) - 1e0, 0e0), 0) / NULLIF(SUM(weight), 0)
    ) AS stderr,
    -- Kish's effective number of rows: beside few rows with large losses the others hardly count.
    -- A quarter of it: 20 such rows are enough, of a count 5.
    POWER(SUM(weight * loss), 2)
        / NULLIF(
            4e0 * SUM(weight * (loss * loss + loss_variance)), 0
        ) AS support,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM log_losses
WHERE weight > 0
GROUP BY slice
