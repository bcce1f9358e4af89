/*
summary: largest distance between predicted probability and observed share of positives of a bin
formula: max over bins of |mean p - mean y|
direction: lower
range: 0 .. 1
domain: "score: 0 .. 1"
expectation: none
reference: sklearn.calibration.calibration_curve # the largest distance of its two columns
aliases: [mce]
task: two classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    MAX(ABS(CAST(score_sum - positives AS DOUBLE)) / NULLIF(n, 0)) AS value,
    CASE WHEN SUM(n) = 0 THEN 'total weight is 0' END AS note
FROM calibration_bins
GROUP BY slice
