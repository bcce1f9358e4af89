/*
summary: standard error of Youden's J, a sum of two independent shares, linearised for weights
*/
SELECT
    slice,
    -- The variance of a difference of two independent shares (Youden 1950), each linearised for
    -- weights. Without weights, the variance of a share is tp fn / (tp + fn)^3.
    SQRT(
        (tp_squares * POWER(CAST(fn AS DOUBLE) / NULLIF(tp + fn, 0), 2)
            + fn_squares * POWER(CAST(tp AS DOUBLE) / NULLIF(tp + fn, 0), 2))
            / NULLIF(POWER(CAST(tp + fn AS DOUBLE), 2), 0)
        + (fp_squares * POWER(CAST(tn AS DOUBLE) / NULLIF(fp + tn, 0), 2)
            + tn_squares * POWER(CAST(fp AS DOUBLE) / NULLIF(fp + tn, 0), 2))
            / NULLIF(POWER(CAST(fp + tn AS DOUBLE), 2), 0)
    ) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2.
    LEAST(
        COALESCE(1e0 * tp * tp / NULLIF(tp_squares, 0), 0e0),
        COALESCE(1e0 * fn * fn / NULLIF(fn_squares, 0), 0e0),
        COALESCE(1e0 * fp * fp / NULLIF(fp_squares, 0), 0e0),
        COALESCE(1e0 * tn * tn / NULLIF(tn_squares, 0), 0e0)
    ) AS support
FROM outcomes
