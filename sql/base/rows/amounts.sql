/*
summary: each row's value, and whether it is other than 0 and 1
means: [amount]
centres: [amount_centre]
variances: [amount_variance]
*/
SELECT
    slice,
    value AS amount,
    value AS amount_centre,
    0e0 AS amount_variance,
    CASE WHEN value = 0 OR value = 1 THEN 0 ELSE 1 END AS is_other,
    weight,
    squares,
    n_rows
FROM predictions
