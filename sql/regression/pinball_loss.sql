/*
summary: loss of a predicted quantile of level alpha; half the absolute error at 0.5
formula: mean(max(alpha (label - prediction), (alpha - 1) (label - prediction)))
direction: lower
range: 0 .. inf
params:
  alpha: float in [0, 1] = 0.5
reference: sklearn.metrics.mean_pinball_loss
aliases: [mean_pinball_loss, quantile_loss, quantile_score]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    GREATEST($alpha * (label - prediction), ($alpha - 1e0) * (label - prediction)) AS row_value
FROM predictions
