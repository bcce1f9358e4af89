/*
summary: each row's probability, and its squared distance from the label
means: [p, p_squared, squared_error, squared_error_squared]
*/
SELECT
    slice,
    label,
    CAST(score AS DOUBLE) AS p,
    POWER(CAST(score AS DOUBLE), 2) AS p_squared,
    POWER(CAST(score AS DOUBLE) - label, 2) AS squared_error,
    POWER(CAST(score AS DOUBLE) - label, 2) * POWER(CAST(score AS DOUBLE) - label, 2)
        AS squared_error_squared,
    weight
FROM predictions
