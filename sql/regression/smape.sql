/*
summary: symmetric mean absolute percentage error, as a share of the mean of label and prediction
formula: mean(2 |prediction - label| / (|label| + |prediction|)); a row of two zeros counts 0
direction: lower
range: 0 .. 2
reference: sktime.performance_metrics.forecasting.mean_absolute_percentage_error # with symmetric=True
aliases: [symmetric_mean_absolute_percentage_error]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN label = 0 AND prediction = 0 THEN 0e0
        ELSE CAST(2e0 * ABS(prediction - label) AS DOUBLE) / NULLIF(ABS(label) + ABS(prediction), 0)
    END AS row_value
FROM predictions
