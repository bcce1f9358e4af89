/*
summary: >-
  relative reduction of the Brier score compared with always predicting the shares of the classes;
  negative if the score is higher
formula: 1 - Brier score / (1 - sum_k q_k^2), q_k the share of class k
direction: higher
range: -inf .. 1
domain: "score: 0 .. 1"
reference: sklearn.metrics.d2_brier_score
task: classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    1e0 - CAST(SUM(errors) AS DOUBLE) * MAX(total)
        / NULLIF(SUM(CAST(of_class AS DOUBLE) * (total - of_class)), 0) AS value,
    CASE
        WHEN SUM(of_class) = 0 THEN 'total weight is 0'
        WHEN MAX(of_class) = MAX(total) THEN 'only one class among the labels'
    END AS note
FROM (
    SELECT
        slice,
        errors,
        of_class,
        SUM(of_class) OVER (PARTITION BY slice) AS total
    FROM (
        SELECT
            slice,
            class,
            SUM(
                weight
                * (CAST(score AS DOUBLE) - CASE WHEN label = class THEN 1 ELSE 0 END)
                * (CAST(score AS DOUBLE) - CASE WHEN label = class THEN 1 ELSE 0 END)
            ) AS errors,
            SUM(CASE WHEN label = class THEN weight ELSE 0 END) AS of_class
        FROM class_scores
        GROUP BY
            slice,
            class
    ) AS classes_of_rows
) AS totalled
GROUP BY slice
