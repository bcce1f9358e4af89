/*
summary: error rate if predictions were independent of the labels
formula: 1 - sum over classes of (share of label c) (share of prediction c)
direction: none
range: 0 .. 1
reference: "Efron and Tibshirani (1997), Improvements on cross-validation: the .632+ bootstrap method"
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    1e0 - CAST(SUM(CAST(actual AS DOUBLE) * predicted) AS DOUBLE)
        / NULLIF(CAST(SUM(actual) AS DOUBLE) * SUM(actual), 0) AS value,
    CASE WHEN SUM(actual) = 0 THEN 'total weight is 0' END AS note
FROM class_counts
GROUP BY slice
