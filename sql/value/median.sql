/*
summary: median of the values; the mean of the two middle values of an even number of rows
formula: the smallest x with sum(w [value <= x]) >= sum(w) / 2; if both are equal, the mean of x and the next value
direction: higher
range: -inf .. inf
reference: numpy.median
task: value
weights: frequency
unbinned: always
since: 0.2.0
*/
SELECT
    slice,
    -- 1e-12, because sums of weights are rounded.
    5e-1 * MIN(CASE WHEN reached >= (5e-1 - 1e-12) * total THEN amount END)
        + 5e-1 * COALESCE(
            MIN(CASE WHEN reached > (5e-1 + 1e-12) * total THEN amount END),
            MAX(amount)
        ) AS value
FROM value_ranks
GROUP BY slice
