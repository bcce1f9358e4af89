/*
summary: rows of each pair of a label and a prediction
*/
SELECT
    slice,
    label,
    prediction,
    SUM(weight) AS mass,
    SUM(squares) AS mass_squares,
    SUM(n_rows) AS row_count
FROM predictions
WHERE weight > 0
GROUP BY
    slice,
    label,
    prediction
