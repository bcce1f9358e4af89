/*
summary: >-
  relative reduction of the Brier score compared with always predicting the prevalence; negative if
  the score is higher
formula: 1 - Brier score / (mean y (1 - mean y))
direction: higher
range: -inf .. 1
domain: "score: 0 .. 1"
reference: sklearn.metrics.d2_brier_score
aliases: [d2_brier_score, bss]
task: classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    1e0 - CAST(SUM(weight * squared_error) AS DOUBLE)
        / NULLIF(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END), 0)
        * (CAST(SUM(weight) AS DOUBLE) / NULLIF(SUM(CASE WHEN label = 0 THEN weight ELSE 0 END), 0))
        AS value,
    CASE
        WHEN SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) = 0 THEN 'no positive labels'
        WHEN SUM(CASE WHEN label = 0 THEN weight ELSE 0 END) = 0 THEN 'no negative labels'
    END AS note
FROM probabilities
GROUP BY slice
