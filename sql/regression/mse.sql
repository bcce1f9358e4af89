/*
summary: mean squared error
formula: mean((prediction - label)^2)
direction: lower
range: 0 .. inf
reference: sklearn.metrics.mean_squared_error
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * POWER(prediction - label, 2)) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    SQRT(
        GREATEST(
            SUM(weight * POWER(prediction - label, 2) * POWER(prediction - label, 2))
                - CAST(SUM(weight * POWER(prediction - label, 2)) AS DOUBLE) * SUM(weight * POWER(prediction - label, 2)) / NULLIF(SUM(weight), 0),
            0e0
        ) / NULLIF(GREATEST(SUM(weight) - 1e0, 0e0), 0) / NULLIF(SUM(weight), 0)
    ) AS stderr,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM predictions
GROUP BY slice
