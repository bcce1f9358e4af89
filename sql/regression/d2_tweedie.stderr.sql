/*
summary: standard error of D2, a ratio of two mean losses, linearised for weights
*/
SELECT
    slice,
    -- The variance of a ratio of two means (Cochran 1977, section 2.11), linearised for weights.
    -- That the constant is estimated adds nothing: it makes the null loss smallest.
    SQRT(
        GREATEST(
            SUM(squares * loss * loss)
            - 2e0 * CAST(SUM(weight * loss) AS DOUBLE) / NULLIF(SUM(weight * null_loss), 0)
                * SUM(squares * loss * null_loss)
            + POWER(CAST(SUM(weight * loss) AS DOUBLE) / NULLIF(SUM(weight * null_loss), 0), 2)
                * SUM(squares * null_loss * null_loss),
            0e0
        )
        * (CAST(SUM(n_rows) AS DOUBLE) / NULLIF(GREATEST(SUM(n_rows) - 1e0, 0e0), 0))
    ) / NULLIF(SUM(weight * null_loss), 0) AS stderr,
    -- Kish's effective number of rows: a few rows with large losses outweigh the others. The
    -- warning limit is 5. The number is divided by 8, so 40 such rows reach it.
    125e-3 * LEAST(
        COALESCE(POWER(SUM(weight * loss), 2) / NULLIF(SUM(squares * loss * loss), 0), 0e0),
        COALESCE(POWER(SUM(weight * null_loss), 2) / NULLIF(SUM(squares * null_loss * null_loss), 0), 0e0)
    ) AS support,
    -- As in mse.stderr.sql: a deviance is the square of a residual, so these are kurtoses.
    GREATEST(
        COALESCE(
            CAST(SUM(squares * loss * loss) AS DOUBLE) / NULLIF(SUM(squares), 0)
                / NULLIF(POWER(CAST(SUM(weight * loss) AS DOUBLE) / NULLIF(SUM(weight), 0), 2), 0),
            0e0
        ),
        COALESCE(
            CAST(SUM(squares * null_loss * null_loss) AS DOUBLE) / NULLIF(SUM(squares), 0)
                / NULLIF(POWER(CAST(SUM(weight * null_loss) AS DOUBLE) / NULLIF(SUM(weight), 0), 2), 0),
            0e0
        )
    ) AS kurtosis
FROM tweedie_losses
GROUP BY slice
