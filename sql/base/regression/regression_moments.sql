/*
summary: means, variances and the covariance of labels and predictions; 0 for constant values
*/
-- Deviations are taken from the means of a first pass: sums of squares less the square of a sum
-- would cancel where values are far from 0 relative to their spread. The mean of the deviations,
-- which is 0 except for rounding, is subtracted too (Chan, Golub and LeVeque 1983,
-- doi:10.1080/00031305.1983.10483115). The rows of a state have a variance each, which is added
-- (Chan's formula for merged groups). Constant values have a variance of 0 except for rounding, in
-- relation to which 1e-30 of the squared mean is large. ELSE holds the variance because DataFusion
-- takes a column for not NULL where THEN repeats it from the condition.
SELECT
    slice,
    total,
    total_rows,
    mean_label,
    mean_prediction,
    mean_error,
    mean_squared_error,
    CASE
        WHEN raw_label_variance <= 1e-30 * mean_label * mean_label THEN 0e0
        ELSE raw_label_variance
    END AS label_variance,
    CASE
        WHEN raw_prediction_variance <= 1e-30 * mean_prediction * mean_prediction THEN 0e0
        ELSE raw_prediction_variance
    END AS prediction_variance,
    covariance,
    error_variance,
    label_range
FROM (
    SELECT
        slice,
        MAX(weight_of_all) AS total,
        MAX(rows_of_all) AS total_rows,
        MAX(label_centre) AS mean_label,
        MAX(prediction_centre) AS mean_prediction,
        MAX(error_centre) AS mean_error,
        MAX(squared_error_mean) AS mean_squared_error,
        (
            CAST(SUM(weight * (within_label + label_deviation * label_deviation)) AS DOUBLE)
            - SUM(weight * label_deviation) * (CAST(SUM(weight * label_deviation) AS DOUBLE) / NULLIF(SUM(weight), 0))
        ) / NULLIF(SUM(weight), 0) AS raw_label_variance,
        (
            CAST(SUM(weight * (within_prediction + prediction_deviation * prediction_deviation)) AS DOUBLE)
            - SUM(weight * prediction_deviation)
                * (CAST(SUM(weight * prediction_deviation) AS DOUBLE) / NULLIF(SUM(weight), 0))
        ) / NULLIF(SUM(weight), 0) AS raw_prediction_variance,
        (
            CAST(SUM(weight * (within_both + label_deviation * prediction_deviation)) AS DOUBLE)
            - SUM(weight * label_deviation)
                * (CAST(SUM(weight * prediction_deviation) AS DOUBLE) / NULLIF(SUM(weight), 0))
        ) / NULLIF(SUM(weight), 0) AS covariance,
        GREATEST(
            CAST(SUM(weight * (within_error + error_deviation * error_deviation)) AS DOUBLE)
            - SUM(weight * error_deviation) * (CAST(SUM(weight * error_deviation) AS DOUBLE) / NULLIF(SUM(weight), 0)),
            0e0
        ) / NULLIF(SUM(weight), 0) AS error_variance,
        MAX(label_deviation) - MIN(label_deviation) AS label_range
    FROM (
        SELECT
            slice,
            weight,
            total AS weight_of_all,
            total_rows AS rows_of_all,
            mean_label AS label_centre,
            mean_prediction AS prediction_centre,
            mean_error AS error_centre,
            mean_squared_error AS squared_error_mean,
            actual - mean_label AS label_deviation,
            predicted - mean_prediction AS prediction_deviation,
            error - mean_error AS error_deviation,
            actual_variance AS within_label,
            predicted_variance AS within_prediction,
            -- From the variance of the difference, because a state holds no covariances.
            5e-1 * (actual_variance + predicted_variance - error_variance) AS within_both,
            error_variance AS within_error
        FROM regression_rows
        JOIN regression_centres USING (slice)
        WHERE weight > 0
    ) AS deviations
    GROUP BY slice
) AS moments
