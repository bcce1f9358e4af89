/*
summary: standard error of log loss, a mean over rows, linearised for weights
*/
SELECT
    slice,
    -- Linearised for weights: the sum of w^2 (x - mean)^2, times n / (n - 1) as in R's svymean. It
    -- is computed around the plain mean of the rows, because sum(w x^2) - sum(w x)^2 / sum(w) would
    -- cancel where the mean is large relative to the deviation. Rows of weight 0 must not move the
    -- plain mean.
    SQRT(
        GREATEST(
            SUM(squares * loss_variance)
                + COUNT(*) * (
                    COVAR_POP(squares * loss_centre, loss_centre)
                    - AVG(loss_centre) * COVAR_POP(squares, loss_centre)
                )
                - (
                    COUNT(*) * COVAR_POP(weight, loss) / NULLIF(SUM(weight), 0)
                    + (AVG(loss) - AVG(loss_centre))
                ) * (
                    2e0 * COUNT(*) * COVAR_POP(squares, loss_centre)
                    - (
                        COUNT(*) * COVAR_POP(weight, loss) / NULLIF(SUM(weight), 0)
                        + (AVG(loss) - AVG(loss_centre))
                    ) * SUM(squares)
                ),
            0e0
        ) / NULLIF(GREATEST(SUM(n_rows) - 1e0, 0e0), 0) / NULLIF(SUM(weight), 0)
            * (CAST(SUM(n_rows) AS DOUBLE) / NULLIF(SUM(weight), 0))
    ) AS stderr,
    -- Kish's effective number of rows: a few rows with large losses outweigh the others. The
    -- warning limit is 5. The number is divided by 6, so 30 such rows reach it.
    POWER(SUM(weight * loss), 2)
        / NULLIF(6e0 * SUM(squares * (loss_centre * loss_centre + loss_variance)), 0) AS support
FROM log_losses
WHERE weight > 0
GROUP BY slice
