/*
summary: each row's label and prediction, and their difference
means: [actual, predicted, error, squared_error]
variances: [actual_variance, predicted_variance, error_variance]
*/
SELECT
    slice,
    label AS actual,
    prediction AS predicted,
    prediction - label AS error,
    (prediction - label) * (prediction - label) AS squared_error,
    0e0 AS actual_variance,
    0e0 AS predicted_variance,
    0e0 AS error_variance,
    weight,
    squares,
    n_rows
FROM predictions
