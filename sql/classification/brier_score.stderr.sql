/*
summary: standard error of the Brier score, a mean over rows, linearised for weights
*/
SELECT
    slice,
    -- Linearised for weights: the sum of w^2 (x - mean)^2, times n / (n - 1) as in R's svymean. It
    -- is computed around the plain mean of the rows, because sum(w x^2) - sum(w x)^2 / sum(w) would
    -- cancel where the mean is large relative to the deviation. Rows of weight 0 must not move the
    -- plain mean.
    SQRT(
        GREATEST(
            SUM(squares * squared_error_variance)
                + COUNT(*) * (
                    COVAR_POP(squares * squared_error_centre, squared_error_centre)
                    - AVG(squared_error_centre) * COVAR_POP(squares, squared_error_centre)
                )
                - (
                    COUNT(*) * COVAR_POP(weight, squared_error) / NULLIF(SUM(weight), 0)
                    + (AVG(squared_error) - AVG(squared_error_centre))
                ) * (
                    2e0 * COUNT(*) * COVAR_POP(squares, squared_error_centre)
                    - (
                        COUNT(*) * COVAR_POP(weight, squared_error) / NULLIF(SUM(weight), 0)
                        + (AVG(squared_error) - AVG(squared_error_centre))
                    ) * SUM(squares)
                ),
            0e0
        ) / NULLIF(GREATEST(SUM(n_rows) - 1e0, 0e0), 0) / NULLIF(SUM(weight), 0)
            * (CAST(SUM(n_rows) AS DOUBLE) / NULLIF(SUM(weight), 0))
    ) AS stderr,
    -- Kish's effective number of rows: a few rows with large losses outweigh the others. The
    -- warning limit is 5. The number is divided by 4, so 20 such rows reach it.
    POWER(SUM(weight * squared_error), 2)
        / NULLIF(4e0 * SUM(squares * (squared_error_centre * squared_error_centre + squared_error_variance)), 0) AS support
FROM probabilities
WHERE weight > 0
GROUP BY slice
