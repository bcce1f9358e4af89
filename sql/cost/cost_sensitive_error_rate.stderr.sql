/*
summary: standard error of the cost-sensitive error rate by the delta method, linearised for weights
*/
SELECT
    slice,
    -- The variance of a mean of costs, computed around that mean because sums of squares would
    -- cancel, and linearised for weights.
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
    ) / NULLIF(CAST(tp + fp + fn + tn AS DOUBLE), 0) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2. The warning limit is 5. Rows of a class are
    -- divided by 4, so 20 of them reach it.
    LEAST(
        COALESCE(1e0 * (tp + tn) * (tp + tn) / NULLIF(tp_squares + tn_squares, 0), 0e0),
        COALESCE(1e0 * (fp + fn) * (fp + fn) / NULLIF(fp_squares + fn_squares, 0), 0e0),
        COALESCE(25e-2 * (tp + fn) * (tp + fn) / NULLIF(tp_squares + fn_squares, 0), 0e0),
        COALESCE(25e-2 * (fp + tn) * (fp + tn) / NULLIF(fp_squares + tn_squares, 0), 0e0)
    ) AS support
FROM outcomes
