/*
summary: total weight, rows, and the means of labels, predictions and errors
*/
SELECT
    slice,
    SUM(weight) AS total,
    SUM(n_rows) AS total_rows,
    CAST(SUM(weight * actual) AS DOUBLE) / NULLIF(SUM(weight), 0) AS mean_label,
    CAST(SUM(weight * predicted) AS DOUBLE) / NULLIF(SUM(weight), 0) AS mean_prediction,
    CAST(SUM(weight * error) AS DOUBLE) / NULLIF(SUM(weight), 0) AS mean_error,
    CAST(SUM(weight * squared_error) AS DOUBLE) / NULLIF(SUM(weight), 0) AS mean_squared_error
FROM regression_rows
WHERE weight > 0
GROUP BY slice
