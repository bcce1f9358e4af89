/*
summary: share of the variance of the labels that the predictions explain
formula: 1 - sum(w (y - p)^2) / sum(w (y - mean(y))^2)
direction: higher
range: -inf .. 1
interval: delta
reference: sklearn.metrics.r2_score
aliases: [r2_score, nash_sutcliffe]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    1e0 - CAST(mean_squared_error AS DOUBLE) / NULLIF(label_variance, 0) AS value,
    CASE WHEN label_variance = 0 THEN 'constant labels' END AS note
FROM regression_moments
