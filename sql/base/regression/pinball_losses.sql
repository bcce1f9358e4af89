/*
summary: the pinball loss of each row's prediction, and of the quantile of the labels
params:
  alpha: float in [0, 1] = 0.5
*/
SELECT
    slice,
    $alpha * GREATEST(label - prediction, 0e0) + (1e0 - $alpha) * GREATEST(prediction - label, 0e0) AS loss,
    $alpha * GREATEST(label - label_quantile, 0e0)
        + (1e0 - $alpha) * GREATEST(label_quantile - label, 0e0) AS null_loss,
    weight,
    squares,
    n_rows
FROM predictions
JOIN (
    SELECT
        slice,
        -- As in quantile.sql.
        5e-1 * MIN(CASE WHEN reached >= ($alpha - 1e-12) * total THEN label END)
            + 5e-1 * COALESCE(
                MIN(CASE WHEN reached > ($alpha + 1e-12) * total THEN label END),
                MAX(label)
            ) AS label_quantile
    FROM label_ranks
    GROUP BY slice
) AS quantiles USING (slice)
WHERE weight > 0
