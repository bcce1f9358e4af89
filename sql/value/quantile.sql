/*
summary: value below which a share q of the rows lies
formula: the smallest x with sum(w [value <= x]) >= q sum(w); if both are equal, the mean of x and the next value
direction: higher
range: -inf .. inf
params:
  q: float in [0, 1] = 0.5
reference: numpy.quantile # with method='averaged_inverted_cdf'
task: value
weights: frequency
unbinned: always
since: 0.2.0
*/
SELECT
    slice,
    -- 1e-12, because sums of weights are rounded.
    5e-1 * MIN(CASE WHEN reached >= ($q - 1e-12) * total THEN amount END)
        + 5e-1 * COALESCE(
            MIN(CASE WHEN reached > ($q + 1e-12) * total THEN amount END),
            MAX(amount)
        ) AS value
FROM value_ranks
GROUP BY slice
