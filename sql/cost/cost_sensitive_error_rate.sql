/*
summary: mean cost per row, with cost_fn for a missed positive and cost_fp for a false alarm
formula: (fn cost_fn + fp cost_fp) / all
direction: lower
range: 0 .. inf
params:
  cost_fn: float in (0, inf) = 1.0
  cost_fp: float in (0, inf) = 1.0
interval: delta
reference: sklearn.metrics.confusion_matrix # weighted by the costs
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST($cost_fn * fn + $cost_fp * fp AS DOUBLE) / NULLIF(tp + fp + fn + tn, 0) AS value,
    -- The variance of a mean of costs, around that mean (sums of squares would cancel), linearised
    -- for weights.
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
