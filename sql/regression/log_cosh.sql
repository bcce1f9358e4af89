/*
summary: mean logarithm of the hyperbolic cosine of the error; a smooth absolute error
formula: mean(ln(cosh(prediction - label)))
direction: lower
range: 0 .. inf
reference: torchmetrics.functional.log_cosh_error
aliases: [log_cosh_error]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    -- cosh itself overflows for errors above 710.
    ABS(prediction - label) + LN(1e0 + EXP(-2e0 * ABS(prediction - label))) - LN(2e0) AS row_value
FROM predictions
