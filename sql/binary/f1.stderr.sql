/*
summary: standard error of F1 by the delta method, linearised for weights
*/
SELECT
    slice,
    -- Delta method (Agresti 2013, section 16.1), linearised for weights: the sum over rows of the
    -- squared derivative by the row's weight, times its squared weight. Products of shares neither
    -- overflow nor vanish.
    2e0 * SQRT(
        tp_squares * POWER(CAST(fp + fn AS DOUBLE) / NULLIF(2 * tp + fp + fn, 0), 2)
        + (fp_squares + fn_squares) * POWER(CAST(tp AS DOUBLE) / NULLIF(2 * tp + fp + fn, 0), 2)
    ) / NULLIF(CAST(2 * tp + fp + fn AS DOUBLE), 0) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2. The warning limit is 5. Positives are divided
    -- by 4, so 20 of them reach it.
    LEAST(
        COALESCE(1e0 * tp * tp / NULLIF(tp_squares, 0), 0e0),
        COALESCE(1e0 * (fp + fn) * (fp + fn) / NULLIF(fp_squares + fn_squares, 0), 0e0),
        COALESCE(25e-2 * (tp + fn) * (tp + fn) / NULLIF(tp_squares + fn_squares, 0), 0e0)
    ) AS support
FROM outcomes
