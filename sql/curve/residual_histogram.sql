/*
summary: >-
  number of rows by residual (prediction minus label), in bins of equal width around 0, and the rows
  farther away on both sides
formula: n = sum(w [lower <= p - y < upper]), bins from -reach RMSE to reach RMSE
params:
  bins: int in [1, inf) = 31
  reach: float in (0, inf) = 3.0
order: bin
chart:
  title: Distribution of residuals
  draw: histogram
  columns: [lower, upper, n]
reference: numpy.histogram
task: regression
types: {bin: integer, n: count}
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(number + 1 AS BIGINT) AS bin,
    CASE WHEN number < 0 THEN CAST('-Infinity' AS DOUBLE)
        ELSE (number - 5e-1 * $bins) * MAX(width)
    END AS lower,
    CASE WHEN number >= $bins THEN CAST('Infinity' AS DOUBLE)
        ELSE (number + 1e0 - 5e-1 * $bins) * MAX(width)
    END AS upper,
    SUM(weight) AS n
FROM (
    SELECT
        slice,
        residual,
        weight,
        width,
        -- Without errors, all rows are in the middle.
        CASE
            WHEN width = 0 THEN FLOOR(5e-1 * $bins)
            WHEN residual = 5e-1 * $bins * width THEN $bins - 1e0
            ELSE LEAST(GREATEST(
                FLOOR(CAST(residual AS DOUBLE) / NULLIF(width, 0) + 5e-1 * $bins), -1e0
            ), CAST($bins AS DOUBLE))
        END AS number
    FROM (
        SELECT
            predictions.slice,
            predictions.prediction - predictions.label AS residual,
            predictions.weight,
            2e0 * $reach * scales.rmse / NULLIF($bins, 0) AS width
        FROM predictions
        JOIN (
            SELECT
                slice,
                SQRT(CAST(SUM(weight * squared_error) AS DOUBLE) / NULLIF(SUM(weight), 0)) AS rmse
            FROM errors
            GROUP BY slice
        ) AS scales USING (slice)
        WHERE predictions.weight > 0
    ) AS scaled
) AS placed
GROUP BY
    slice,
    number
