/*
summary: mean predicted probability and observed share of positives per bin
formula: mean of p and mean of y over the rows of a bin
domain: "score: 0 .. 1"
order: bin
band: [bin, observed, points]
expectation: none
chart:
  title: Calibration curve
  draw: calibration
  columns: [predicted, observed, n]
  metric: [ECE, expected_calibration_error]
reference: sklearn.calibration.calibration_curve
aliases: [reliability_curve, reliability_diagram]
task: two classes
types: {bin: integer, n: count}
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(number + 1 AS BIGINT) AS bin,
    CAST(score_sum AS DOUBLE) / NULLIF(n, 0) AS predicted,
    CAST(positives AS DOUBLE) / NULLIF(n, 0) AS observed,
    n
FROM calibration_bins
WHERE n > 0
