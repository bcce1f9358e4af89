/*
summary: mean absolute percentage error, as a share; undefined if a label is 0
formula: mean(|prediction - label| / |label|)
direction: lower
range: 0 .. inf
reference: sklearn.metrics.mean_absolute_percentage_error
aliases: [mean_absolute_percentage_error, neg_mean_absolute_percentage_error]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(ABS(prediction - label) AS DOUBLE) / NULLIF(ABS(label), 0) AS row_value,
    -- scikit-learn divides by 2.2e-16 instead, which makes the mean about 1e15.
    CASE WHEN label = 0 THEN 'a label is 0' END AS note
FROM predictions
