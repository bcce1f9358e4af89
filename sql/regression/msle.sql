/*
summary: mean squared difference of the logarithms of 1 + prediction and 1 + label
formula: mean((ln(1 + prediction) - ln(1 + label))^2)
direction: lower
range: 0 .. inf
reference: sklearn.metrics.mean_squared_log_error
aliases: [mean_squared_log_error, neg_mean_squared_log_error]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    POWER(
        LN(CASE WHEN prediction > -1 THEN 1e0 + prediction END)
            - LN(CASE WHEN label > -1 THEN 1e0 + label END),
        2
    ) AS row_value,
    CASE WHEN label <= -1 OR prediction <= -1 THEN 'a label or prediction is -1 or less' END AS note
FROM predictions
