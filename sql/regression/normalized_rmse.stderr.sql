/*
summary: standard error of the normalised root mean squared error, linearised for weights; a range counts as given
unbinned: always
*/
SELECT
    slice,
    5e-1 * SQRT(mean_squared_error)
        / NULLIF(
            CASE
                WHEN $normalization = 'std' THEN SQRT(label_variance)
                WHEN $normalization = 'range' THEN label_range
                ELSE ABS(mean_label)
            END,
            0
        )
        * SQRT(
            factor
            * CASE
                WHEN $normalization = 'std' THEN squares_of_rmse_by_std
                WHEN $normalization = 'range' THEN squares_of_rmse
                ELSE squares_of_rmse_by_mean
            END
        ) AS stderr,
    CASE
        WHEN $normalization = 'std' THEN degrees_of_rmse_by_std
        WHEN $normalization = 'range' THEN degrees_of_rmse
        ELSE degrees_of_rmse_by_mean
    END AS degrees,
    -- The warning limit is 5. The number of rows is divided by 8, so 40 rows reach it.
    125e-3 * effective_rows AS support
FROM regression_influences
