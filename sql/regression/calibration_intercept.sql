/*
summary: intercept of the regression line of the labels on the predictions; 0 is calibrated
formula: mean(y) - mean(p) Cov(y, p) / Var(p)
direction: none
range: -inf .. inf
interval: delta
reference: scipy.stats.linregress # of labels on predictions
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    mean_label - CAST(covariance AS DOUBLE) / NULLIF(prediction_variance, 0) * mean_prediction AS value,
    CASE WHEN prediction_variance = 0 THEN 'constant predictions' END AS note
FROM regression_moments
