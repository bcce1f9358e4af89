/*
summary: how far each prediction is from the value
means: [absolute_error, squared_error, squared_error_squared]
*/
SELECT
    slice,
    ABS(prediction - label) AS absolute_error,
    POWER(prediction - label, 2) AS squared_error,
    POWER(prediction - label, 2) * POWER(prediction - label, 2) AS squared_error_squared,
    weight
FROM predictions
