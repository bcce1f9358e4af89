/*
summary: >-
  per distinct prediction: rows, and the sums of labels and errors; a strip is the prediction
  rounded to nine significant bits, which keeps the order
*/
SELECT
    slice,
    prediction,
    -- As in rounded_scores.sql. Windows run within strips, so that no task of a distributed engine
    -- sorts all predictions.
    CASE
        WHEN prediction > 1e290 THEN 2e290
        WHEN prediction < -1e290 THEN -2e290
        ELSE 1.7592186044417e13 * prediction - (1.7592186044417e13 * prediction - prediction)
    END AS strip,
    SUM(weight) AS mass,
    SUM(squares) AS mass_squares,
    SUM(n_rows) AS row_count,
    MIN(label) AS lowest_label,
    SUM(weight * label) AS label_sum,
    SUM(weight * (prediction - label)) AS error_sum,
    SUM(weight * ABS(prediction - label)) AS absolute_error_sum,
    SUM(weight * (prediction - label) * (prediction - label)) AS squared_error_sum,
    SUM(squares * (prediction - label)) AS error_squares,
    SUM(squares * (prediction - label) * (prediction - label)) AS squared_error_squares
FROM predictions
WHERE weight > 0
GROUP BY
    slice,
    prediction,
    CASE
        WHEN prediction > 1e290 THEN 2e290
        WHEN prediction < -1e290 THEN -2e290
        ELSE 1.7592186044417e13 * prediction - (1.7592186044417e13 * prediction - prediction)
    END
