/*
summary: slope of the regression line of the labels on the predictions; 1 is calibrated
formula: Cov(y, p) / Var(p)
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
    CAST(covariance AS DOUBLE) / NULLIF(prediction_variance, 0) AS value,
    CASE WHEN prediction_variance = 0 THEN 'constant predictions' END AS note
FROM regression_moments
