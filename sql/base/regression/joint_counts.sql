/*
summary: rows of each pair of a label and a prediction; a strip is the prediction rounded to nine significant bits
*/
SELECT
    slice,
    label,
    prediction,
    -- As in prediction_counts.sql.
    CASE
        WHEN ABS(prediction) > 1e290 THEN prediction
        ELSE 1.7592186044417e13 * prediction - (1.7592186044417e13 * prediction - prediction)
    END AS strip,
    SUM(weight) AS mass,
    SUM(squares) AS mass_squares,
    SUM(n_rows) AS row_count
FROM predictions
WHERE weight > 0
GROUP BY
    slice,
    label,
    prediction
