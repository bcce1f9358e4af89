/*
summary: each row's label beside its prediction
*/
SELECT
    slice,
    label,
    prediction,
    weight
FROM predictions
