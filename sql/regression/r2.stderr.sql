/*
summary: standard error of R2, linearised for weights
unbinned: always
*/
SELECT
    slice,
    SQRT(factor * squares_of_r2) / NULLIF(label_variance, 0) AS stderr,
    effective_rows - 1e0 AS degrees,
    -- The warning limit is 5. The number of rows is divided by 4, so 20 rows reach it.
    25e-2 * effective_rows AS support
FROM regression_influences
