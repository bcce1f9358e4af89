/*
summary: >-
  mean of prediction - label, the bias; above 0 predictions are too high; the calibration in the
  large is its negative
formula: mean(prediction - label)
direction: none
range: -inf .. inf
reference: numpy.average # of prediction - label
aliases: [bias, mean_bias_error, mean_error]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    prediction - label AS row_value
FROM predictions
