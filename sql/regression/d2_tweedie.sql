/*
summary: share of the Tweedie deviance of the mean label that the predictions explain; power 0 is R2, 1 Poisson, 2 Gamma
formula: 1 - mean(deviance(y, p)) / mean(deviance(y, mean(y)))
direction: higher
range: -inf .. 1
interval: delta
reference: sklearn.metrics.d2_tweedie_score
aliases: [d2_tweedie_score]
task: regression
weights: frequency
unbinned: always
since: 0.2.0
*/
SELECT
    slice,
    1e0 - CAST(SUM(weight * loss) AS DOUBLE)
        / NULLIF(CASE WHEN SUM(is_outside) = 0 AND MIN(actual) < MAX(actual) THEN SUM(weight * null_loss) END, 0) AS value,
    CASE
        WHEN SUM(is_outside) > 0 THEN 'labels or predictions outside of the domain of this power'
        WHEN MIN(actual) = MAX(actual) THEN 'constant labels'
    END AS note
FROM tweedie_losses
GROUP BY slice
