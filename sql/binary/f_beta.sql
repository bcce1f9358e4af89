/*
summary: weighted harmonic mean of precision and recall, in which recall counts beta times as much
formula: (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)
direction: higher
range: 0 .. 1
params:
  beta: float in (0, inf) = 1.0
allowed:
  beta: (0, 1e50] # its square must not overflow; params is part of stored definitions
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
    -- Delta method for multinomial counts (Agresti 2013, section 16.1), as sums of products:
    -- differences would cancel where nearly all rows are right.
    (1e0 + $beta * $beta) * SQRT(
        CAST(tp AS DOUBLE) * (
            POWER($beta * $beta * fn + fp, 2) + tp * (POWER($beta, 4) * fn + fp)
        )
    ) / NULLIF(POWER((1e0 + $beta * $beta) * tp + $beta * $beta * fn + fp, 2), 0) AS stderr,
    -- 20 positives are enough, of a count 5: positives count a quarter.
    LEAST(1e0 * tp, 1e0 * (fp + fn), 25e-2 * (tp + fn)) AS support,
    CASE
        WHEN (1e0 + $beta * $beta) * tp + $beta * $beta * fn + fp = 0
        THEN 'no positive labels and no predicted positives'
    END AS note
FROM outcomes
