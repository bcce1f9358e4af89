/*
summary: >-
  accuracy with each row weighted by the cost of its error: the share of the avoidable cost that is
  avoided
formula: (tp cost_fn + tn cost_fp) / (P cost_fn + N cost_fp)
direction: higher
range: 0 .. 1
params:
  cost_fn: float in (0, inf) = 1.0
  cost_fp: float in (0, inf) = 1.0
interval: delta
reference: sklearn.metrics.accuracy_score # sample_weight= the cost of each row's error
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST($cost_fn * tp + $cost_fp * tn AS DOUBLE)
        / NULLIF($cost_fn * (tp + fn) + $cost_fp * (fp + tn), 0) AS value,
    -- Delta method, linearised for weights; f1.sql explains it.
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
    -- The effective numbers of rows, (sum w)^2 / sum w^2. 20 rows of a class are enough, of a count
    -- 5: they count a quarter.
    LEAST(
        COALESCE(1e0 * (tp + tn) * (tp + tn) / NULLIF(tp_squares + tn_squares, 0), 0e0),
        COALESCE(1e0 * (fp + fn) * (fp + fn) / NULLIF(fp_squares + fn_squares, 0), 0e0),
        COALESCE(25e-2 * (tp + fn) * (tp + fn) / NULLIF(tp_squares + fn_squares, 0), 0e0),
        COALESCE(25e-2 * (fp + tn) * (fp + tn) / NULLIF(fp_squares + tn_squares, 0), 0e0)
    ) AS support,
    CASE
        WHEN tp + fp + fn + tn = 0 THEN 'total weight is 0'
    END AS note
FROM outcomes
