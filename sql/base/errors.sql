/*
summary: each row's absolute and squared error
means: [absolute_error, squared_error, squared_error_squared]
*/
SELECT
    slice,
    ABS(prediction - label) AS absolute_error,
    (prediction - label) * (prediction - label) AS squared_error,
    (prediction - label) * (prediction - label) * (prediction - label) * (prediction - label)
        AS squared_error_squared,
    weight
FROM predictions
