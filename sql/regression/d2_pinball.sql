/*
summary: share of the pinball loss of the labels' quantile that the predictions explain; alpha 1/2 compares absolute errors
formula: 1 - mean(loss(y, p)) / mean(loss(y, quantile(y))), loss alpha (y - p) above p and (1 - alpha) (p - y) below
direction: higher
range: -inf .. 1
interval: delta
reference: sklearn.metrics.d2_pinball_score
aliases: [d2_pinball_score, d2_absolute_error, d2_absolute_error_score]
task: regression
weights: frequency
unbinned: always
since: 0.2.0
*/
SELECT
    slice,
    1e0 - CAST(SUM(weight * loss) AS DOUBLE) / NULLIF(SUM(weight * null_loss), 0) AS value,
    CASE WHEN SUM(weight * null_loss) = 0 THEN 'constant labels' END AS note
FROM pinball_losses
GROUP BY slice
