/*
summary: standard error of cost-sensitive precision by the delta method, linearised for weights
*/
SELECT
    slice,
    -- Delta method, linearised for weights; f1.stderr.sql explains it.
    $cost_fn * $cost_fp * SQRT(
        tp_squares * POWER(CAST(fp AS DOUBLE) / NULLIF($cost_fn * tp + $cost_fp * fp, 0), 2)
        + fp_squares * POWER(CAST(tp AS DOUBLE) / NULLIF($cost_fn * tp + $cost_fp * fp, 0), 2)
    ) / NULLIF($cost_fn * tp + $cost_fp * fp, 0) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2.
    LEAST(
        COALESCE(1e0 * tp * tp / NULLIF(tp_squares, 0), 0e0),
        COALESCE(1e0 * fp * fp / NULLIF(fp_squares, 0), 0e0)
    ) AS support
FROM outcomes
