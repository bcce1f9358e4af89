/*
summary: standard error of the slope, not assuming equal variances (White 1980), linearised for weights
unbinned: always
*/
SELECT
    slice,
    SQRT(factor * squares_of_slope) / NULLIF(prediction_variance, 0) AS stderr,
    degrees_of_slope AS degrees,
    -- The warning limit is 5. The number of rows is divided by 8, so 40 rows reach it.
    125e-3 * effective_rows AS support
FROM regression_influences
