/*
summary: >-
  rows of each bin of the prediction and distinct residual; a strip is the residual rounded to nine
  significant bits
*/
SELECT
    slice,
    number,
    residual,
    -- As in prediction_counts.sql.
    CASE
        WHEN ABS(residual) > 1e290 THEN residual
        ELSE 1.7592186044417e13 * residual - (1.7592186044417e13 * residual - residual)
    END AS strip,
    SUM(weight) AS mass,
    CAST(SUM(weight * prediction) AS DOUBLE) / NULLIF(SUM(weight), 0) AS prediction_mean
FROM binned_predictions
GROUP BY
    slice,
    number,
    residual
