/*
summary: per bin of the prediction and distinct residual, the rows, and the rows of the bin up to it
*/
SELECT
    slice,
    number,
    residual,
    prediction_mean,
    mass,
    SUM(mass) OVER (PARTITION BY slice, number ORDER BY residual) AS reached,
    SUM(mass) OVER (PARTITION BY slice, number) AS total
FROM (
    SELECT
        slice,
        number,
        residual,
        SUM(weight) AS mass,
        CAST(SUM(weight * prediction) AS DOUBLE) / NULLIF(SUM(weight), 0) AS prediction_mean
    FROM (
        SELECT
            predictions.slice,
            bins.number,
            predictions.prediction - predictions.label AS residual,
            predictions.prediction,
            predictions.weight
        FROM predictions
        JOIN prediction_bins AS bins USING (slice, prediction)
        WHERE predictions.weight > 0
    ) AS numbered
    GROUP BY
        slice,
        number,
        residual
) AS residual_counts
