/*
summary: each row's negative log-likelihood, from the score of its true class
params:
  eps: float in [0, 0.5) = 2.220446049250313e-16
means: [loss]
centres: [loss_centre]
variances: [loss_variance]
*/
SELECT
    slice,
    label,
    loss,
    loss AS loss_centre,
    0e0 AS loss_variance,
    weight,
    squares,
    n_rows
FROM (
    SELECT
        slice,
        label,
        -LN(GREATEST(LEAST(CAST(score AS DOUBLE), 1e0 - $eps), $eps)) AS loss,
        weight,
        squares,
        n_rows
    FROM class_scores
    WHERE label = class
) AS losses
