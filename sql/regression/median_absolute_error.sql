/*
summary: median of the absolute errors
formula: median(|p - y|)
direction: lower
range: 0 .. inf
reference: sklearn.metrics.median_absolute_error
aliases: [medae, neg_median_absolute_error]
task: regression
weights: frequency
unbinned: always
since: 0.2.0
*/
SELECT
    slice,
    -- As in quantile.sql.
    5e-1 * MIN(CASE WHEN reached >= (5e-1 - 1e-12) * total THEN amount END)
        + 5e-1 * COALESCE(
            MIN(CASE WHEN reached > (5e-1 + 1e-12) * total THEN amount END),
            MAX(amount)
        ) AS value
FROM absolute_error_ranks
GROUP BY slice
