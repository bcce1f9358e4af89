/*
summary: each row's squared difference of the logarithms of 1 + prediction and 1 + label
means: [squared_log_error, is_outside]
centres: [squared_log_error_centre]
variances: [squared_log_error_variance]
*/
SELECT
    slice,
    log_error * log_error AS squared_log_error,
    is_outside,
    log_error * log_error AS squared_log_error_centre,
    0e0 AS squared_log_error_variance,
    weight,
    squares,
    n_rows
FROM (
    SELECT
        slice,
        -- LN(1 + z) of a small z would lose the digits that 1 + z rounds away (Kahan).
        CASE
            WHEN is_outside = 1 THEN 0e0
            WHEN 1e0 + ratio = 1e0 THEN ratio
            ELSE LN(1e0 + ratio) * (CAST(ratio AS DOUBLE) / NULLIF((1e0 + ratio) - 1e0, 0))
        END AS log_error,
        is_outside,
        weight,
        squares,
        n_rows
    FROM (
        SELECT
            slice,
            CASE
                WHEN label > -1 AND prediction > -1
                THEN CAST(prediction - label AS DOUBLE) / NULLIF(1e0 + label, 0)
                ELSE 0e0
            END AS ratio,
            CASE WHEN label > -1 AND prediction > -1 THEN 0 ELSE 1 END AS is_outside,
            weight,
            squares,
            n_rows
        FROM predictions
    ) AS ratios
) AS logarithms
