/*
summary: each row, with the number of its bin of equal mass by prediction
*/
SELECT
    predictions.slice,
    bins.number,
    predictions.label,
    predictions.prediction,
    predictions.prediction - predictions.label AS residual,
    predictions.weight,
    predictions.squares,
    predictions.n_rows
FROM predictions
JOIN prediction_bins AS bins USING (slice, prediction)
WHERE predictions.weight > 0
