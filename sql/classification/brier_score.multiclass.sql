/*
summary: mean squared distance between the class probabilities and the label, summed over classes
formula: mean(sum_k (p_k - y_k)^2)
direction: lower
range: 0 .. 2
domain: "score: 0 .. 1"
reference: sklearn.metrics.brier_score_loss
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(
        SUM(
            weight
            * (CAST(score AS DOUBLE) - CASE WHEN label = class THEN 1 ELSE 0 END)
            * (CAST(score AS DOUBLE) - CASE WHEN label = class THEN 1 ELSE 0 END)
        )
        AS DOUBLE
    ) / NULLIF(SUM(CASE WHEN label = class THEN weight ELSE 0 END), 0) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM class_scores
GROUP BY slice
