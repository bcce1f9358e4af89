/*
summary: standard error of the normalised Gini index by the infinitesimal jackknife, linearised for weights
unbinned: always
*/
SELECT
    slice,
    SQRT(factor * squares_of_gini) AS stderr,
    degrees_of_gini AS degrees,
    -- The warning limit is 5. The number of rows is divided by 8, so 40 rows reach it.
    125e-3 * effective_rows AS support
FROM rank_influences
