/*
summary: moments of labels and predictions, and the variances of metrics made of them
*/
-- A metric moves by its influence on the mean of all rows if a row's weight grows (Hampel 1974,
-- doi:10.1080/01621459.1974.10482962). The variance of the metric is the sum of the squared
-- influences, each times its squared weight, times n / (n - 1) as in R's svymean. Influences are
-- computed row by row: sums of their terms would cancel where predictions are nearly right. The
-- degrees of freedom follow from the kurtosis k of the influences (Satterthwaite 1946,
-- doi:10.2307/3002019): a variance of n of them has 2 n / (k - 1).
SELECT
    slice,
    SUM(n_rows) AS total_rows,
    MAX(label_centre) AS mean_label,
    MAX(prediction_centre) AS mean_prediction,
    MAX(error_centre) AS mean_error,
    MAX(squared_error_mean) AS mean_squared_error,
    MAX(variance_of_label) AS label_variance,
    MAX(variance_of_prediction) AS prediction_variance,
    MAX(covariance_of_both) AS covariance,
    MAX(variance_of_error) AS error_variance,
    MAX(range_of_label) AS label_range,
    CAST(SUM(n_rows) AS DOUBLE) / NULLIF(GREATEST(SUM(n_rows) - 1e0, 0e0), 0)
        / NULLIF(MAX(weight_of_all), 0) / NULLIF(MAX(weight_of_all), 0) AS factor,
    -- Kish's effective number of rows, (sum w)^2 / sum w^2.
    SUM(weight) * (CAST(SUM(weight) AS DOUBLE) / NULLIF(SUM(squares), 0)) AS effective_rows,
    SUM(squares * POWER(of_r2, 2)) AS squares_of_r2,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_r2, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_r2, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_r2,
    SUM(squares * POWER(of_explained_variance, 2)) AS squares_of_explained_variance,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_explained_variance, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_explained_variance, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_explained_variance,
    SUM(squares * POWER(of_pearson, 2)) AS squares_of_pearson,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_pearson, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_pearson, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_pearson,
    SUM(squares * POWER(of_concordance, 2)) AS squares_of_concordance,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_concordance, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_concordance, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_concordance,
    SUM(squares * POWER(of_slope, 2)) AS squares_of_slope,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_slope, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_slope, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_slope,
    SUM(squares * POWER(of_intercept, 2)) AS squares_of_intercept,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_intercept, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_intercept, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_intercept,
    SUM(squares * POWER(of_rmse, 2)) AS squares_of_rmse,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_rmse, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_rmse, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_rmse,
    SUM(squares * POWER(of_rmse_by_mean, 2)) AS squares_of_rmse_by_mean,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_rmse_by_mean, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_rmse_by_mean, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_rmse_by_mean,
    SUM(squares * POWER(of_rmse_by_std, 2)) AS squares_of_rmse_by_std,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_rmse_by_std, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_rmse_by_std, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_rmse_by_std
FROM (
    SELECT
        slice,
        weight,
        squares,
        n_rows,
        weight_of_all,
        label_centre,
        prediction_centre,
        error_centre,
        squared_error_mean,
        variance_of_label,
        variance_of_prediction,
        covariance_of_both,
        variance_of_error,
        range_of_label,
        label_deviation,
        error_deviation,
        -- 1 - r2 is the ratio of two means.
        squared_error - CAST(squared_error_mean AS DOUBLE) / NULLIF(variance_of_label, 0) * label_deviation * label_deviation
            AS of_r2,
        error_deviation * error_deviation
            - CAST(variance_of_error AS DOUBLE) / NULLIF(variance_of_label, 0) * label_deviation * label_deviation
            AS of_explained_variance,
        CAST(label_deviation AS DOUBLE) / NULLIF(SQRT(variance_of_label), 0)
            * (CAST(prediction_deviation AS DOUBLE) / NULLIF(SQRT(variance_of_prediction), 0))
            - 5e-1 * CAST(covariance_of_both AS DOUBLE) / NULLIF(SQRT(variance_of_label) * SQRT(variance_of_prediction), 0) * (
                label_deviation * (CAST(label_deviation AS DOUBLE) / NULLIF(variance_of_label, 0))
                + prediction_deviation * (CAST(prediction_deviation AS DOUBLE) / NULLIF(variance_of_prediction, 0))
            ) AS of_pearson,
        2e0 * label_deviation * prediction_deviation
            - 2e0 * CAST(covariance_of_both AS DOUBLE) / NULLIF(variance_of_label + variance_of_prediction + error_centre * error_centre, 0) * (
                label_deviation * label_deviation
                + prediction_deviation * prediction_deviation
                + error_centre * (2e0 * error_deviation + error_centre)
            ) AS of_concordance,
        prediction_deviation * (
            label_deviation - CAST(covariance_of_both AS DOUBLE) / NULLIF(variance_of_prediction, 0) * prediction_deviation
        ) AS of_slope,
        (label_deviation - CAST(covariance_of_both AS DOUBLE) / NULLIF(variance_of_prediction, 0) * prediction_deviation)
            * (1e0 - CAST(prediction_centre AS DOUBLE) / NULLIF(variance_of_prediction, 0) * prediction_deviation)
            AS of_intercept,
        -- Twice the influence on the logarithm of the root mean squared error.
        CAST(squared_error AS DOUBLE) / NULLIF(squared_error_mean, 0) - 1e0 AS of_rmse,
        CAST(squared_error AS DOUBLE) / NULLIF(squared_error_mean, 0)
            - 1e0 - 2e0 * CAST(label_deviation AS DOUBLE) / NULLIF(label_centre, 0) AS of_rmse_by_mean,
        CAST(squared_error AS DOUBLE) / NULLIF(squared_error_mean, 0)
            - label_deviation * (CAST(label_deviation AS DOUBLE) / NULLIF(variance_of_label, 0)) AS of_rmse_by_std
    FROM (
        SELECT
            slice,
            weight,
            squares,
            n_rows,
            total AS weight_of_all,
            mean_label AS label_centre,
            mean_prediction AS prediction_centre,
            mean_error AS error_centre,
            mean_squared_error AS squared_error_mean,
            label_variance AS variance_of_label,
            prediction_variance AS variance_of_prediction,
            covariance AS covariance_of_both,
            regression_moments.error_variance AS variance_of_error,
            label_range AS range_of_label,
            squared_error,
            actual - mean_label AS label_deviation,
            predicted - mean_prediction AS prediction_deviation,
            error - mean_error AS error_deviation
        FROM regression_rows
        JOIN regression_moments USING (slice)
        WHERE weight > 0
    ) AS deviations
) AS influences
GROUP BY slice
