/*
summary: weighted harmonic mean of precision and recall, in which recall counts beta times as much
formula: (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)
direction: higher
range: 0 .. 1
params:
  beta: float in (0, 1e50] = 1.0 # its square must not overflow
interval: delta
reference: sklearn.metrics.fbeta_score
aliases: [f_beta_score, fbeta, fbeta_score]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST((1e0 + $beta * $beta) * tp AS DOUBLE)
        / NULLIF((1e0 + $beta * $beta) * tp + $beta * $beta * fn + fp, 0) AS value,
    CASE
        WHEN (1e0 + $beta * $beta) * tp + $beta * $beta * fn + fp = 0
        THEN 'no positive labels and no predicted positives'
    END AS note
FROM outcomes
