/*
summary: standard error of Pearson's correlation, linearised for weights
unbinned: always
*/
SELECT
    slice,
    SQRT(factor * squares_of_pearson) AS stderr,
    degrees_of_pearson AS degrees,
    -- The warning limit is 5. The number of rows is divided by 8, so 40 rows reach it.
    125e-3 * effective_rows AS support
FROM regression_influences
