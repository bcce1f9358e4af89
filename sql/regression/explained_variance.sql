/*
summary: share of the variance of the labels that the predictions explain, apart from a constant error
formula: 1 - Var(y - p) / Var(y)
direction: higher
range: -inf .. 1
interval: delta
reference: sklearn.metrics.explained_variance_score
aliases: [explained_variance_score]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    1e0 - CAST(error_variance AS DOUBLE) / NULLIF(label_variance, 0) AS value,
    CASE WHEN label_variance = 0 THEN 'constant labels' END AS note
FROM regression_moments
