/*
summary: Brier score of always predicting the prevalence
formula: mean y (1 - mean y)
direction: none
range: 0 .. 0.25
reference: sklearn.metrics.brier_score_loss # of the prevalence
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS DOUBLE) / NULLIF(SUM(weight), 0)
        * CAST(SUM(CASE WHEN label = 0 THEN weight ELSE 0 END) AS DOUBLE) / NULLIF(SUM(weight), 0)
        AS value,
    SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS positives,
    SUM(weight) AS trials,
    SUM(CASE WHEN label = 1 THEN squares ELSE 0 END) AS squared_successes,
    SUM(squares) AS squared_trials,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM predictions
GROUP BY slice
