/*
summary: mean absolute error
formula: mean(|prediction - label|)
direction: lower
range: 0 .. inf
reference: sklearn.metrics.mean_absolute_error
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * ABS(prediction - label)) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    SQRT(
        GREATEST(
            SUM(weight * ABS(prediction - label) * ABS(prediction - label))
                - CAST(SUM(weight * ABS(prediction - label)) AS DOUBLE) * SUM(weight * ABS(prediction - label)) / NULLIF(SUM(weight), 0),
            0e0
        ) / NULLIF(GREATEST(SUM(weight) - 1e0, 0e0), 0) / NULLIF(SUM(weight), 0)
    ) AS stderr,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM predictions
GROUP BY slice
