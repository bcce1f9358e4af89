/*
summary: each row's probability, and its squared distance from the label
means: [p, p_squared, squared_error]
centres: [p_centre, p_squared_centre, squared_error_centre]
variances: [squared_error_variance]
*/
SELECT
    slice,
    label,
    CAST(score AS DOUBLE) AS p,
    CAST(score AS DOUBLE) AS p_centre,
    -- Products, because POWER(x, 2) costs more than the rest of this step.
    CAST(score AS DOUBLE) * CAST(score AS DOUBLE) AS p_squared,
    CAST(score AS DOUBLE) * CAST(score AS DOUBLE) AS p_squared_centre,
    (CAST(score AS DOUBLE) - label) * (CAST(score AS DOUBLE) - label) AS squared_error,
    (CAST(score AS DOUBLE) - label) * (CAST(score AS DOUBLE) - label) AS squared_error_centre,
    0e0 AS squared_error_variance,
    weight,
    squares,
    n_rows
FROM predictions
