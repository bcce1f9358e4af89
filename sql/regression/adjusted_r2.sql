/*
summary: R2, corrected for the number of features of the model
formula: 1 - (1 - r2) (n - 1) / (n - features - 1), n the number of rows
direction: higher
range: -inf .. 1
params:
  features: int in [1, inf) = 1
interval: delta
reference: statsmodels.regression.linear_model.RegressionResults # rsquared_adj
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    1e0 - CAST(mean_squared_error AS DOUBLE) / NULLIF(label_variance, 0)
        * (CAST(total_rows - 1 AS DOUBLE) / NULLIF(CASE WHEN total_rows - 1 > $features THEN total_rows - 1 - $features END, 0))
        AS value,
    CASE
        WHEN label_variance = 0 THEN 'constant labels'
        WHEN total_rows - 1 <= $features THEN 'no more rows than features and an intercept'
    END AS note
FROM regression_moments
