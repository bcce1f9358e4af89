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
    CAST(SUM(weight * prediction) AS DOUBLE) / NULLIF(SUM(weight), 0) AS predicted,
    CAST(SUM(weight * ABS(residual)) AS DOUBLE) / NULLIF(SUM(weight), 0) AS mae,
    SQRT(CAST(SUM(weight * residual * residual) AS DOUBLE) / NULLIF(SUM(weight), 0)) AS rmse,
    CAST(SUM(weight * residual) AS DOUBLE) / NULLIF(SUM(weight), 0) AS bias,
    SUM(weight) AS n
FROM binned_predictions
GROUP BY
    slice,
    number
