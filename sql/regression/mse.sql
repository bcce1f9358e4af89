/*
summary: mean squared error
formula: sum(w (prediction - label)^2) / sum(w); with normalize=false the sum alone, for w = p(x) dx on a grid
direction: lower
range: 0 .. inf
params:
  normalize: bool = true
reference: sklearn.metrics.mean_squared_error
aliases: [mean_squared_error, neg_mean_squared_error]
task: regression
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * squared_error) AS DOUBLE)
        / NULLIF(CASE WHEN $normalize THEN SUM(weight) WHEN SUM(weight) > 0 THEN 1 END, 0) AS value,
    -- Linearised for weights: the sum of w^2 (x - mean)^2, times n / (n - 1) as in R's svymean. It
    -- is computed around the plain mean of the rows; sum(w x^2) - sum(w x)^2 / sum(w) would cancel
    -- where the mean is large beside the deviation. Rows of weight 0 must not move that mean.
    CASE WHEN $normalize THEN 1e0 END * SQRT(
        GREATEST(
            SUM(squares * squared_error_variance)
                + COUNT(*) * (
                    COVAR_POP(squares * squared_error_centre, squared_error_centre)
                    - AVG(squared_error_centre) * COVAR_POP(squares, squared_error_centre)
                )
                - (
                    COUNT(*) * COVAR_POP(weight, squared_error) / NULLIF(SUM(weight), 0)
                    + (AVG(squared_error) - AVG(squared_error_centre))
                ) * (
                    2e0 * COUNT(*) * COVAR_POP(squares, squared_error_centre)
                    - (
                        COUNT(*) * COVAR_POP(weight, squared_error) / NULLIF(SUM(weight), 0)
                        + (AVG(squared_error) - AVG(squared_error_centre))
                    ) * SUM(squares)
                ),
            0e0
        ) / NULLIF(GREATEST(SUM(n_rows) - 1e0, 0e0), 0) / NULLIF(SUM(weight), 0)
            * (CAST(SUM(n_rows) AS DOUBLE) / NULLIF(SUM(weight), 0))
    ) AS stderr,
    -- Kish's effective number of rows: beside few rows with large losses the others hardly count.
    -- A quarter of it: 20 such rows are enough, of a count 5.
    POWER(SUM(weight * squared_error), 2)
        / NULLIF(4e0 * SUM(squares * (squared_error_centre * squared_error_centre + squared_error_variance)), 0) AS support,
    -- The kurtosis of the errors: the mean of their squares' squares, divided by the squared mean.
    CAST(SUM(squares * (squared_error_centre * squared_error_centre + squared_error_variance)) AS DOUBLE)
        / NULLIF(SUM(squares), 0)
        / NULLIF(POWER(CAST(SUM(weight * squared_error) AS DOUBLE) / NULLIF(SUM(weight), 0), 2), 0)
        AS kurtosis,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM errors
WHERE weight > 0
GROUP BY slice
