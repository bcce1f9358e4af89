/*
summary: each row's negative log-likelihood, with the probability clipped to eps .. 1 - eps
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
        -- Cast a FLOAT score to DOUBLE first, because 1 - score would be rounded to FLOAT.
        -LN(GREATEST(LEAST(
            CASE WHEN label = 1 THEN CAST(score AS DOUBLE) ELSE 1e0 - CAST(score AS DOUBLE) END,
            1e0 - $eps
        ), $eps)) AS loss,
        weight,
        squares,
        n_rows
    FROM predictions
) AS losses
