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
    -- The variance of a mean of costs, around that mean: sums of squares would cancel.
    SQRT(
        fn * POWER($cost_fn * (tp + fp + tn) - $cost_fp * fp, 2)
        + fp * POWER($cost_fp * (tp + fn + tn) - $cost_fn * fn, 2)
        + (tp + tn) * POWER($cost_fn * fn + $cost_fp * fp, 2)
    ) / NULLIF(POWER(CAST(tp + fp + fn + tn AS DOUBLE), 2), 0) AS stderr,
    -- 20 rows of a class are enough, of a count 5: they count a quarter.
    LEAST(
        1e0 * (tp + tn), 1e0 * (fp + fn), 25e-2 * (tp + fn), 25e-2 * (fp + tn)
    ) AS support,
    CASE
        WHEN tp + fp + fn + tn = 0 THEN 'total weight is 0'
    END AS note
FROM outcomes
