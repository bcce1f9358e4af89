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
    -- Delta method, linearised for weights; f1.sql explains it.
    (1e0 + $beta * $beta) * SQRT(
        tp_squares * POWER(
            CAST($beta * $beta * fn + fp AS DOUBLE)
                / NULLIF((1e0 + $beta * $beta) * tp + $beta * $beta * fn + fp, 0),
            2
        )
        + fn_squares * POWER(
            CAST($beta * $beta * tp AS DOUBLE)
                / NULLIF((1e0 + $beta * $beta) * tp + $beta * $beta * fn + fp, 0),
            2
        )
        + fp_squares * POWER(
            CAST(tp AS DOUBLE) / NULLIF((1e0 + $beta * $beta) * tp + $beta * $beta * fn + fp, 0), 2
        )
    ) / NULLIF((1e0 + $beta * $beta) * tp + $beta * $beta * fn + fp, 0) AS stderr,
    -- The effective numbers of rows, (sum w)^2 / sum w^2. 20 positives are enough, of a count 5:
    -- positives count a quarter.
    LEAST(
        COALESCE(1e0 * tp * tp / NULLIF(tp_squares, 0), 0e0),
        COALESCE(1e0 * (fp + fn) * (fp + fn) / NULLIF(fp_squares + fn_squares, 0), 0e0),
        COALESCE(25e-2 * (tp + fn) * (tp + fn) / NULLIF(tp_squares + fn_squares, 0), 0e0)
    ) AS support,
    CASE
        WHEN (1e0 + $beta * $beta) * tp + $beta * $beta * fn + fp = 0
        THEN 'no positive labels and no predicted positives'
    END AS note
FROM outcomes
