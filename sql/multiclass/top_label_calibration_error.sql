/*
summary: >-
  distance between the highest probability of a row and the share of rows whose label has it, over
  bins of this probability
formula: >-
  l1: sum over bins of (n_b / n) |gap|; l2: the root of the mean of squares; max: the largest gap;
  gap = mean highest p - share right, bins (a, b] as in calibration_curve, ties to the first class
direction: lower
range: 0 .. 1
domain: "score: 0 .. 1"
params:
  norm: str in {l1, l2, max} = l1
reference: torchmetrics.functional.classification.multiclass_calibration_error
aliases: [confidence_calibration_error, multiclass_calibration_error]
task: several classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN $norm = 'max' THEN MAX(CAST(ABS(score_sum - n_right) AS DOUBLE) / NULLIF(n, 0))
        WHEN $norm = 'l2'
        THEN SQRT(
            CAST(SUM(CAST((score_sum - n_right) * (score_sum - n_right) AS DOUBLE) / NULLIF(n, 0)) AS DOUBLE)
            / NULLIF(SUM(n), 0)
        )
        ELSE CAST(SUM(ABS(score_sum - n_right)) AS DOUBLE) / NULLIF(SUM(n), 0)
    END AS value,
    CASE WHEN COALESCE(SUM(n), 0) = 0 THEN 'total weight is 0' END AS note
FROM top_label_bins
GROUP BY slice
