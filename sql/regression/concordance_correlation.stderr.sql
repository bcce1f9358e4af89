/*
summary: standard error of the concordance correlation, linearised for weights
unbinned: always
*/
SELECT
    slice,
    SQRT(factor * squares_of_concordance)
        / NULLIF(label_variance + prediction_variance + mean_error * mean_error, 0) AS stderr,
    degrees_of_concordance AS degrees,
    -- The warning limit is 5. The number of rows is divided by 8, so 40 rows reach it.
    125e-3 * effective_rows AS support
FROM regression_influences
