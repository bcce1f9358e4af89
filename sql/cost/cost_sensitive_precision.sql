/*
summary: precision with each row weighted by the cost of its error
formula: tp cost_fn / (tp cost_fn + fp cost_fp)
direction: higher
range: 0 .. 1
params:
  cost_fn: float in (0, inf) = 1.0
  cost_fp: float in (0, inf) = 1.0
interval: delta
reference: sklearn.metrics.precision_score # sample_weight= the cost of each row's error
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST($cost_fn * tp AS DOUBLE) / NULLIF($cost_fn * tp + $cost_fp * fp, 0) AS value,
    -- Delta method, linearised for weights; f1.sql explains it.
    $cost_fn * $cost_fp * SQRT(
        tp_squares * POWER(CAST(fp AS DOUBLE) / NULLIF($cost_fn * tp + $cost_fp * fp, 0), 2)
        + fp_squares * POWER(CAST(tp AS DOUBLE) / NULLIF($cost_fn * tp + $cost_fp * fp, 0), 2)
    ) / NULLIF($cost_fn * tp + $cost_fp * fp, 0) AS stderr,
    -- The effective numbers of rows, (sum w)^2 / sum w^2.
    LEAST(
        COALESCE(1e0 * tp * tp / NULLIF(tp_squares, 0), 0e0),
        COALESCE(1e0 * fp * fp / NULLIF(fp_squares, 0), 0e0)
    ) AS support,
    CASE
        WHEN tp + fp = 0 THEN 'no predicted positives'
    END AS note
FROM outcomes
