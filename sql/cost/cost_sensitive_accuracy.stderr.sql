/*
summary: standard error of cost-sensitive accuracy by the delta method, linearised for weights
*/
SELECT
    slice,
    -- Delta method, linearised for weights; f1.stderr.sql explains it.
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
    ) / NULLIF($cost_fn * (tp + fn) + $cost_fp * (fp + tn), 0) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2. The warning limit is 5. Rows of a class are
    -- divided by 4, so 20 of them reach it.
    LEAST(
        COALESCE(1e0 * (tp + tn) * (tp + tn) / NULLIF(tp_squares + tn_squares, 0), 0e0),
        COALESCE(1e0 * (fp + fn) * (fp + fn) / NULLIF(fp_squares + fn_squares, 0), 0e0),
        COALESCE(25e-2 * (tp + fn) * (tp + fn) / NULLIF(tp_squares + fn_squares, 0), 0e0),
        COALESCE(25e-2 * (fp + tn) * (fp + tn) / NULLIF(fp_squares + tn_squares, 0), 0e0)
    ) AS support
FROM outcomes
