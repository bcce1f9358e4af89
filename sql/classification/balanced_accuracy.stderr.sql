/*
summary: standard error of balanced accuracy, a mean of independent shares, linearised for weights
*/
SELECT
    slice,
    -- The variance of a mean of independent shares, each linearised for weights. Without weights,
    -- the variance of a share is matched missed / actual^3.
    SQRT(SUM(
        (
            matched_squares * POWER(CAST(missed AS DOUBLE) / NULLIF(actual, 0), 2)
            + missed_squares * POWER(CAST(matched AS DOUBLE) / NULLIF(actual, 0), 2)
        ) / NULLIF(POWER(CAST(actual AS DOUBLE), 2), 0)
    )) / NULLIF(COUNT(NULLIF(actual, 0)), 0) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2.
    MIN(CASE
        WHEN actual > 0
        THEN LEAST(
            COALESCE(1e0 * matched * matched / NULLIF(matched_squares, 0), 0e0),
            COALESCE(1e0 * missed * missed / NULLIF(missed_squares, 0), 0e0)
        )
    END) AS support
FROM class_counts
GROUP BY slice
