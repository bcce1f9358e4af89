/*
summary: each row's absolute and squared error
means: [absolute_error, squared_error]
centres: [absolute_error_centre, squared_error_centre]
variances: [absolute_error_variance, squared_error_variance]
*/
SELECT
    slice,
    ABS(prediction - label) AS absolute_error,
    (prediction - label) * (prediction - label) AS squared_error,
    ABS(prediction - label) AS absolute_error_centre,
    (prediction - label) * (prediction - label) AS squared_error_centre,
    0e0 AS absolute_error_variance,
    0e0 AS squared_error_variance,
    weight,
    squares,
    n_rows
FROM predictions
