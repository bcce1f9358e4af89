/*
summary: Brier score if probabilities were independent of the labels
formula: mean over all pairs of rows of (p_i - y_j)^2
direction: none
range: 0 .. 1
domain: "score: 0 .. 1"
reference: "Efron and Tibshirani (1997), Improvements on cross-validation: the .632+ bootstrap method"
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * p_squared) AS DOUBLE) / NULLIF(SUM(weight), 0)
        - 2e0 * CAST(SUM(weight * p) AS DOUBLE) / NULLIF(SUM(weight), 0)
            * CAST(SUM(weight * label) AS DOUBLE) / NULLIF(SUM(weight), 0)
        + CAST(SUM(weight * label) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM probabilities
GROUP BY slice
