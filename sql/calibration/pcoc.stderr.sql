/*
summary: standard error of PCOC, a ratio of two means, linearised for weights
*/
SELECT
    slice,
    -- The variance of a ratio of two means (Cochran 1977, section 2.11), linearised for weights:
    -- the sum of w^2 (p - R y)^2, from the sums of its three terms.
    SQRT(
        GREATEST(
            SUM(squares * p_squared_centre)
            - 2e0 * SUM(weight * p) / NULLIF(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END), 0)
                * SUM(CASE WHEN label = 1 THEN squares * p_centre ELSE 0e0 END)
            + POWER(CAST(SUM(weight * p) AS DOUBLE) / NULLIF(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END), 0), 2)
                * SUM(CASE WHEN label = 1 THEN squares ELSE 0 END),
            0e0
        )
    ) / NULLIF(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END), 0) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2. The warning limit is 5. Rows of a class are
    -- divided by 4, so 20 of them reach it.
    25e-2 * LEAST(
        COALESCE(
            POWER(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END), 2)
                / NULLIF(SUM(CASE WHEN label = 1 THEN squares ELSE 0 END), 0),
            0e0
        ),
        COALESCE(
            POWER(SUM(CASE WHEN label = 0 THEN weight ELSE 0 END), 2)
                / NULLIF(SUM(CASE WHEN label = 0 THEN squares ELSE 0 END), 0),
            0e0
        )
    ) AS support
FROM probabilities
GROUP BY slice
