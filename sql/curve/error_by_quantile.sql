/*
summary: mean absolute error, root mean squared error and bias by quantile of the prediction
formula: mae = mean |p - y|, rmse = sqrt(mean (p - y)^2), bias = mean (p - y) over the rows of a bin
order: bin
chart:
  title: Error by quantile of the prediction
  draw: errors
  columns: [predicted, mae, rmse, bias]
reference: pandas.qcut
task: regression
types: {bin: integer, n: count}
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(number + 1 AS BIGINT) AS bin,
    CAST(SUM(mass * prediction) AS DOUBLE) / NULLIF(SUM(mass), 0) AS predicted,
    CAST(SUM(absolute_error_sum) AS DOUBLE) / NULLIF(SUM(mass), 0) AS mae,
    SQRT(CAST(SUM(squared_error_sum) AS DOUBLE) / NULLIF(SUM(mass), 0)) AS rmse,
    CAST(SUM(error_sum) AS DOUBLE) / NULLIF(SUM(mass), 0) AS bias,
    SUM(mass) AS n
FROM prediction_bins
GROUP BY
    slice,
    number
