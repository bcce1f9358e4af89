/*
summary: >-
  mean distance between predicted probability and observed share of positives over bins, weighted by
  the rows of each bin
formula: >-
  sum over bins of (n_b / n) |mean p - mean y|; the macro average over classes is the classwise
  calibration error
direction: lower
range: 0 .. 1
domain: "score: 0 .. 1"
expectation: none
reference: sklearn.calibration.calibration_curve # its bins, weighted by their rows
aliases: [ece, classwise_calibration_error]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(ABS(score_sum - positives)) AS DOUBLE) / NULLIF(SUM(n), 0) AS value,
    CASE WHEN SUM(n) = 0 THEN 'total weight is 0' END AS note
FROM calibration_bins
GROUP BY slice
