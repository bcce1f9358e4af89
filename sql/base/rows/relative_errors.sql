/*
summary: each row's error beside its label, for ratios of their sums
means: [error, absolute_error, actual, absolute_label, squared_error, squared_label, error_label, absolute_error_label]
centres: [squared_error_centre, squared_label_centre, error_label_centre, absolute_error_label_centre]
*/
SELECT
    slice,
    prediction - label AS error,
    ABS(prediction - label) AS absolute_error,
    label AS actual,
    ABS(label) AS absolute_label,
    (prediction - label) * (prediction - label) AS squared_error,
    label * label AS squared_label,
    (prediction - label) * label AS error_label,
    ABS(prediction - label) * ABS(label) AS absolute_error_label,
    (prediction - label) * (prediction - label) AS squared_error_centre,
    label * label AS squared_label_centre,
    (prediction - label) * label AS error_label_centre,
    ABS(prediction - label) * ABS(label) AS absolute_error_label_centre,
    weight,
    squares,
    n_rows
FROM predictions
