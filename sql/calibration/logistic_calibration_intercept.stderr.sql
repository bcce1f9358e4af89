/*
summary: standard error of the intercept by the sandwich of the information and the squared residuals
*/
SELECT
    slice,
    shift_error AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2. The warning limit is 5. Rows of a class are
    -- divided by 4, so 20 of them reach it.
    25e-2 * LEAST(
        COALESCE(CAST(total_positives AS DOUBLE) * total_positives / NULLIF(total_positive_squares, 0), 0e0),
        COALESCE(CAST(total_negatives AS DOUBLE) * total_negatives / NULLIF(total_negative_squares, 0), 0e0)
    ) AS support
FROM calibration_shift
