/*
summary: each row's label and prediction
*/
SELECT
    slice,
    label,
    prediction,
    weight,
    squares
FROM predictions
