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
    FROM binned_predictions
    GROUP BY
        slice,
        number,
        residual
) AS residual_counts
