/*
summary: >-
  quantiles of the residuals (prediction minus label) by quantile of the prediction, and their mean
formula: quantiles 0.05, 0.25, 0.5, 0.75, 0.95 of p - y over the rows of a bin
order: bin
chart:
  title: Residuals by prediction
  draw: residuals
  columns: [predicted, q05, q25, median, q75, q95]
reference: numpy.quantile # with method='averaged_inverted_cdf'
task: regression
types: {bin: integer, n: count}
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(number + 1 AS BIGINT) AS bin,
    CAST(SUM(mass * prediction_mean) AS DOUBLE) / NULLIF(SUM(mass), 0) AS predicted,
    CAST(SUM(mass * residual) AS DOUBLE) / NULLIF(SUM(mass), 0) AS mean,
    -- As in quantile.sql.
    5e-1 * MIN(CASE WHEN reached >= (5e-2 - 1e-12) * total THEN residual END)
        + 5e-1 * COALESCE(
            MIN(CASE WHEN reached > (5e-2 + 1e-12) * total THEN residual END), MAX(residual)
        ) AS q05,
    5e-1 * MIN(CASE WHEN reached >= (2.5e-1 - 1e-12) * total THEN residual END)
        + 5e-1 * COALESCE(
            MIN(CASE WHEN reached > (2.5e-1 + 1e-12) * total THEN residual END), MAX(residual)
        ) AS q25,
    5e-1 * MIN(CASE WHEN reached >= (5e-1 - 1e-12) * total THEN residual END)
        + 5e-1 * COALESCE(
            MIN(CASE WHEN reached > (5e-1 + 1e-12) * total THEN residual END), MAX(residual)
        ) AS median,
    5e-1 * MIN(CASE WHEN reached >= (7.5e-1 - 1e-12) * total THEN residual END)
        + 5e-1 * COALESCE(
            MIN(CASE WHEN reached > (7.5e-1 + 1e-12) * total THEN residual END), MAX(residual)
        ) AS q75,
    5e-1 * MIN(CASE WHEN reached >= (9.5e-1 - 1e-12) * total THEN residual END)
        + 5e-1 * COALESCE(
            MIN(CASE WHEN reached > (9.5e-1 + 1e-12) * total THEN residual END), MAX(residual)
        ) AS q95,
    SUM(mass) AS n
FROM residual_ranks
GROUP BY
    slice,
    number
