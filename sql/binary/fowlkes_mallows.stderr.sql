/*
summary: standard error of the Fowlkes-Mallows index by the delta method, linearised for weights
*/
SELECT
    slice,
    -- Delta method, linearised for weights; f1.stderr.sql explains it. Sums of products are used,
    -- because differences would cancel where nearly all rows are right.
    5e-1 * SQRT(
        tp_squares * POWER(
            CAST(fp AS DOUBLE) / NULLIF(tp + fp, 0) + CAST(fn AS DOUBLE) / NULLIF(tp + fn, 0), 2
        )
        + fp_squares * POWER(CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0), 2)
        + fn_squares * POWER(CAST(tp AS DOUBLE) / NULLIF(tp + fn, 0), 2)
    ) / NULLIF(SQRT(CAST(tp + fp AS DOUBLE)) * SQRT(CAST(tp + fn AS DOUBLE)), 0) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2. The warning limit is 5. Positives are divided
    -- by 4, so 20 of them reach it.
    LEAST(
        COALESCE(1e0 * tp * tp / NULLIF(tp_squares, 0), 0e0),
        COALESCE(1e0 * (fp + fn) * (fp + fn) / NULLIF(fp_squares + fn_squares, 0), 0e0),
        COALESCE(25e-2 * (tp + fn) * (tp + fn) / NULLIF(tp_squares + fn_squares, 0), 0e0)
    ) AS support
FROM outcomes
