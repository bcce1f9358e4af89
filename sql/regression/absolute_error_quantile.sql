/*
summary: absolute error below which a share q of the rows lies
formula: the smallest x with sum(w [|p - y| <= x]) >= q sum(w); if both are equal, the mean of x and the next one
direction: lower
range: 0 .. inf
params:
  q: float in [0, 1] = 0.9
reference: numpy.quantile # of the absolute errors, with method='averaged_inverted_cdf'
task: regression
weights: frequency
unbinned: always
since: 0.2.0
*/
SELECT
    slice,
    -- As in quantile.sql.
    5e-1 * MIN(CASE WHEN reached >= ($q - 1e-12) * total THEN amount END)
        + 5e-1 * COALESCE(
            MIN(CASE WHEN reached > ($q + 1e-12) * total THEN amount END),
            MAX(amount)
        ) AS value
FROM absolute_error_ranks
GROUP BY slice
