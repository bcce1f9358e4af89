/*
summary: standard error of the explained variance, linearised for weights
unbinned: always
*/
SELECT
    slice,
    SQRT(factor * squares_of_explained_variance) / NULLIF(label_variance, 0) AS stderr,
    degrees_of_explained_variance AS degrees,
    -- The warning limit is 5. The number of rows is divided by 8, so 40 rows reach it.
    125e-3 * effective_rows AS support
FROM regression_influences
