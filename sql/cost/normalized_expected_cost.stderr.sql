/*
summary: standard error of the normalized expected cost, linearised for weights
*/
SELECT
    slice,
    -- Delta method; with a prior: the variance of a sum of independent shares. Both are linearised
    -- for weights; f1.stderr.sql explains it.
    CASE
        WHEN $prior IS NULL
        THEN
            SQRT(
                ($cost_fn * $cost_fn * tp_squares + $cost_fp * $cost_fp * tn_squares) * POWER(
                    CAST($cost_fn * fn + $cost_fp * fp AS DOUBLE)
                        / NULLIF($cost_fn * (tp + fn) + $cost_fp * (fp + tn), 0),
                    2
                )
                + ($cost_fn * $cost_fn * fn_squares + $cost_fp * $cost_fp * fp_squares) * POWER(
                    CAST($cost_fn * tp + $cost_fp * tn AS DOUBLE)
                        / NULLIF($cost_fn * (tp + fn) + $cost_fp * (fp + tn), 0),
                    2
                )
            ) / NULLIF($cost_fn * (tp + fn) + $cost_fp * (fp + tn), 0)
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
            ) / NULLIF($prior * $cost_fn + (1e0 - $prior) * $cost_fp, 0)
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
