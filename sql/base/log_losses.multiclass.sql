/*
summary: each row's negative log-likelihood, from the score of its true class
params:
  eps: float = 2.220446049250313e-16
means: [loss, loss_squared]
*/
SELECT
    slice,
    label,
    loss,
    loss * loss AS loss_squared,
    weight
FROM (
    SELECT
        slice,
        label,
        -LN(GREATEST(LEAST(CAST(score AS DOUBLE), 1e0 - $eps), $eps)) AS loss,
        weight
    FROM class_scores
    WHERE label = class
) AS losses
