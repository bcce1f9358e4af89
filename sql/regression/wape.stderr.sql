/*
summary: standard error of the ratio of absolute errors to absolute labels, linearised for weights
*/
SELECT
    slice,
    -- The variance of a ratio of two means (Cochran 1977, section 2.11), linearised for weights:
    -- the sum of w^2 (x - R y)^2, from the sums of its three terms.
    SQRT(
        GREATEST(
            SUM(squares * squared_error_centre)
            - 2e0 * CAST(SUM(weight * absolute_error) AS DOUBLE) / NULLIF(SUM(weight * absolute_label), 0)
                * SUM(squares * absolute_error_label_centre)
            + POWER(CAST(SUM(weight * absolute_error) AS DOUBLE) / NULLIF(SUM(weight * absolute_label), 0), 2)
                * SUM(squares * squared_label_centre),
            0e0
        )
        * (CAST(SUM(n_rows) AS DOUBLE) / NULLIF(GREATEST(SUM(n_rows) - 1e0, 0e0), 0))
    ) / NULLIF(ABS(SUM(weight * absolute_label)), 0) AS stderr,
    -- Kish's effective number of rows: a few rows with large labels or errors outweigh the others.
    -- The warning limit is 5. The number is divided by 4, so 20 such rows reach it.
    25e-2 * LEAST(
        COALESCE(POWER(SUM(weight * absolute_label), 2) / NULLIF(SUM(squares * squared_label_centre), 0), 0e0),
        COALESCE(POWER(SUM(weight * absolute_error), 2) / NULLIF(SUM(squares * squared_error_centre), 0), 0e0)
    ) AS support
FROM relative_errors
WHERE weight > 0
GROUP BY slice
