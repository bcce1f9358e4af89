/*
summary: Huber loss, half the squared error up to delta, and linear beyond it
formula: mean(e^2 / 2 if |e| <= delta else delta (|e| - delta / 2)), e = prediction - label
direction: lower
range: 0 .. inf
params:
  delta: float in (0, inf) = 1
reference: scipy.special.huber # the mean over rows
aliases: [huber_loss]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN ABS(prediction - label) <= $delta THEN 5e-1 * (prediction - label) * (prediction - label)
        ELSE $delta * (ABS(prediction - label) - 5e-1 * $delta)
    END AS row_value
FROM predictions
