/*
summary: standard error of the expected cost, linearised for weights
*/
SELECT
    slice,
    -- Without a prior: the variance of a mean of costs, computed around that mean because sums of
    -- squares would cancel. With a prior: the variance of a sum of independent shares. Both are
    -- linearised for weights.
    CASE
        WHEN $prior IS NULL
        THEN
            SQRT(
                fn_squares * POWER(
                    CAST($cost_fn * (tp + fp + tn) - $cost_fp * fp AS DOUBLE) / NULLIF(tp + fp + fn + tn, 0), 2
                )
                + fp_squares * POWER(
                    CAST($cost_fp * (tp + fn + tn) - $cost_fn * fn AS DOUBLE) / NULLIF(tp + fp + fn + tn, 0), 2
                )
                + (tp_squares + tn_squares) * POWER(
                    CAST($cost_fn * fn + $cost_fp * fp AS DOUBLE) / NULLIF(tp + fp + fn + tn, 0), 2
                )
            ) / NULLIF(CAST(tp + fp + fn + tn AS DOUBLE), 0)
        ELSE
            SQRT(
                POWER($prior * $cost_fn, 2)
                    * (fn_squares * POWER(CAST(tp AS DOUBLE) / NULLIF(tp + fn, 0), 2)
                        + tp_squares * POWER(CAST(fn AS DOUBLE) / NULLIF(tp + fn, 0), 2))
                    / NULLIF(POWER(CAST(tp + fn AS DOUBLE), 2), 0)
                + POWER((1e0 - $prior) * $cost_fp, 2)
                    * (fp_squares * POWER(CAST(tn AS DOUBLE) / NULLIF(fp + tn, 0), 2)
                        + tn_squares * POWER(CAST(fp AS DOUBLE) / NULLIF(fp + tn, 0), 2))
                    / NULLIF(POWER(CAST(fp + tn AS DOUBLE), 2), 0)
            )
    END AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2. The warning limit is 5. Rows of a class are
    -- divided by 4, so 20 of them reach it.
    CASE
        WHEN $prior IS NULL
        THEN LEAST(
                COALESCE(1e0 * (tp + tn) * (tp + tn) / NULLIF(tp_squares + tn_squares, 0), 0e0),
                COALESCE(1e0 * (fp + fn) * (fp + fn) / NULLIF(fp_squares + fn_squares, 0), 0e0),
                COALESCE(25e-2 * (tp + fn) * (tp + fn) / NULLIF(tp_squares + fn_squares, 0), 0e0),
                COALESCE(25e-2 * (fp + tn) * (fp + tn) / NULLIF(fp_squares + tn_squares, 0), 0e0)
            )
        ELSE LEAST(
                COALESCE(1e0 * tp * tp / NULLIF(tp_squares, 0), 0e0),
                COALESCE(1e0 * fn * fn / NULLIF(fn_squares, 0), 0e0),
                COALESCE(1e0 * fp * fp / NULLIF(fp_squares, 0), 0e0),
                COALESCE(1e0 * tn * tn / NULLIF(tn_squares, 0), 0e0)
            )
    END AS support
FROM outcomes
