/*
summary: standard error of the mean of a value of each row, linearised for weights
*/
SELECT
    slice,
    -- Linearised for weights: the sum of w^2 (x - mean)^2, times n / (n - 1) as in R's svymean. It
    -- is computed around the plain mean of the rows, because sum(w x^2) - sum(w x)^2 / sum(w) would
    -- cancel where the mean is large relative to the deviation. Rows of weight 0 must not move the
    -- plain mean.
    SQRT(
        GREATEST(
            SUM(squares * row_value_variance)
                + COUNT(*) * (
                    COVAR_POP(squares * row_value_centre, row_value_centre)
                    - AVG(row_value_centre) * COVAR_POP(squares, row_value_centre)
                )
                - (
                    COUNT(*) * COVAR_POP(weight, row_value) / NULLIF(SUM(weight), 0)
                    + (AVG(row_value) - AVG(row_value_centre))
                ) * (
                    2e0 * COUNT(*) * COVAR_POP(squares, row_value_centre)
                    - (
                        COUNT(*) * COVAR_POP(weight, row_value) / NULLIF(SUM(weight), 0)
                        + (AVG(row_value) - AVG(row_value_centre))
                    ) * SUM(squares)
                ),
            0e0
        ) / NULLIF(GREATEST(SUM(n_rows) - 1e0, 0e0), 0) / NULLIF(SUM(weight), 0)
            * (CAST(SUM(n_rows) AS DOUBLE) / NULLIF(SUM(weight), 0))
    ) AS stderr,
    -- Degrees of freedom from Kish's effective number of rows, (sum w)^2 / sum w^2.
    GREATEST(SUM(weight) * (CAST(SUM(weight) AS DOUBLE) / NULLIF(SUM(squares), 0)) - 1e0, 0e0) AS degrees,
    -- The warning limit is 5. Effective numbers of rows are divided by 4, so 20 rows reach it.
    CAST(SUM(weight) AS DOUBLE) * SUM(weight) / NULLIF(4e0 * SUM(squares), 0) AS support,
    -- For values of 0 or more: a few rows with large values outweigh the others.
    POWER(SUM(weight * row_value), 2)
        / NULLIF(4e0 * SUM(squares * (row_value_centre * row_value_centre + row_value_variance)), 0)
        AS support_of_losses,
    -- The mean of the squared values, divided by the squared mean: if a value is a squared error,
    -- the kurtosis of the errors.
    CAST(SUM(squares * (row_value_centre * row_value_centre + row_value_variance)) AS DOUBLE)
        / NULLIF(SUM(squares), 0)
        / NULLIF(POWER(CAST(SUM(weight * row_value) AS DOUBLE) / NULLIF(SUM(weight), 0), 2), 0)
        AS kurtosis
FROM row_values
WHERE weight > 0
GROUP BY slice
