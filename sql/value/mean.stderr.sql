/*
summary: standard error of the mean, linearised for weights
*/
SELECT
    slice,
    -- Linearised for weights: the sum of w^2 (x - mean)^2, times n / (n - 1) as in R's svymean. It
    -- is computed around the plain mean of the rows, because sum(w x^2) - sum(w x)^2 / sum(w) would
    -- cancel where the mean is large relative to the deviation. Rows of weight 0 must not move the
    -- plain mean.
    SQRT(
        GREATEST(
            SUM(squares * amount_variance)
                + COUNT(*) * (
                    COVAR_POP(squares * amount_centre, amount_centre)
                    - AVG(amount_centre) * COVAR_POP(squares, amount_centre)
                )
                - (
                    COUNT(*) * COVAR_POP(weight, amount) / NULLIF(SUM(weight), 0)
                    + (AVG(amount) - AVG(amount_centre))
                ) * (
                    2e0 * COUNT(*) * COVAR_POP(squares, amount_centre)
                    - (
                        COUNT(*) * COVAR_POP(weight, amount) / NULLIF(SUM(weight), 0)
                        + (AVG(amount) - AVG(amount_centre))
                    ) * SUM(squares)
                ),
            0e0
        ) / NULLIF(GREATEST(SUM(n_rows) - 1e0, 0e0), 0) / NULLIF(SUM(weight), 0)
            * (CAST(SUM(n_rows) AS DOUBLE) / NULLIF(SUM(weight), 0))
    ) AS stderr,
    -- Degrees of freedom from Kish's effective number of rows, (sum w)^2 / sum w^2.
    GREATEST(SUM(weight) * (CAST(SUM(weight) AS DOUBLE) / NULLIF(SUM(squares), 0)) - 1e0, 0e0) AS degrees,
    -- The warning limit is 5. The effective number is divided by 4, so 20 rows reach it. The
    -- standard error of values 0 and 1 rests on the rarer of the two.
    LEAST(
        CAST(SUM(weight) AS DOUBLE) * SUM(weight) / NULLIF(4e0 * SUM(squares), 0),
        CASE
            WHEN SUM(is_other) = 0
            THEN LEAST(SUM(weight * amount), SUM(weight * (1e0 - amount)))
            ELSE SUM(weight)
        END * (CAST(SUM(weight) AS DOUBLE) / NULLIF(SUM(squares), 0))
    ) AS support
FROM amounts
WHERE weight > 0
GROUP BY slice
