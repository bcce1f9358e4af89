/*
summary: each row's absolute and squared error
means: [absolute_error, squared_error]
variances: [absolute_error_variance, squared_error_variance]
*/
SELECT
    slice,
    ABS(prediction - label) AS absolute_error,
    (prediction - label) * (prediction - label) AS squared_error,
    0e0 AS absolute_error_variance,
    0e0 AS squared_error_variance,
    weight
FROM predictions
