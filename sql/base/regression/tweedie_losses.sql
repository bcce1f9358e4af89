/*
summary: the Tweedie deviance of each row's label from its prediction, and from the mean of the labels
params:
  power: float = 0.0
*/
-- With r = y / m and d = r - 1, the deviance of a label y from a mean m is m^(2 - power) f(d):
-- f(0) = f'(0) = 0 and f''(d) = 2 (1 + d)^(-power) (Jorgensen 1997, The theory of dispersion
-- models, section 4.1). The terms of the closed form cancel for small d, so the Taylor series takes
-- its place. Rows outside of the domain have a deviance of 0.
SELECT
    slice,
    CASE WHEN $power = 0 THEN squared_error ELSE POWER(given, 2e0 - $power) * shape END AS loss,
    CASE WHEN $power = 0 THEN squared_deviation ELSE POWER(centre, 2e0 - $power) * null_shape END AS null_loss,
    is_outside,
    actual,
    weight,
    squares,
    n_rows
FROM (
    SELECT
        slice,
        squared_error,
        squared_deviation,
        given,
        centre,
        CASE
            WHEN ABS(gap) < 1e-2
            THEN
                gap * gap * (1e0 - ($power + 0e0) * gap / 3e0
                * (1e0 - ($power + 1e0) * gap / 4e0
                * (1e0 - ($power + 2e0) * gap / 5e0
                * (1e0 - ($power + 3e0) * gap / 6e0
                * (1e0 - ($power + 4e0) * gap / 7e0
                * (1e0 - ($power + 5e0) * gap / 8e0))))))
            WHEN $power = 1
            THEN 2e0 * (CASE WHEN ratio > 0 THEN ratio * LN(ratio) ELSE 0e0 END - gap)
            WHEN $power = 2
            THEN 2e0 * (gap - LN(ratio))
            ELSE 2e0 * (
                CAST(CASE WHEN ratio > 0 THEN POWER(ratio, 2e0 - $power) ELSE 0e0 END AS DOUBLE)
                    / NULLIF((1e0 - $power) * (2e0 - $power), 0)
                - CAST(ratio AS DOUBLE) / NULLIF(1e0 - $power, 0)
                + 1e0 / NULLIF(2e0 - $power, 0)
            )
        END AS shape,
        CASE
            WHEN ABS(null_gap) < 1e-2
            THEN
                null_gap * null_gap * (1e0 - ($power + 0e0) * null_gap / 3e0
                * (1e0 - ($power + 1e0) * null_gap / 4e0
                * (1e0 - ($power + 2e0) * null_gap / 5e0
                * (1e0 - ($power + 3e0) * null_gap / 6e0
                * (1e0 - ($power + 4e0) * null_gap / 7e0
                * (1e0 - ($power + 5e0) * null_gap / 8e0))))))
            WHEN $power = 1
            THEN 2e0 * (CASE WHEN null_ratio > 0 THEN null_ratio * LN(null_ratio) ELSE 0e0 END - null_gap)
            WHEN $power = 2
            THEN 2e0 * (null_gap - LN(null_ratio))
            ELSE 2e0 * (
                CAST(CASE WHEN null_ratio > 0 THEN POWER(null_ratio, 2e0 - $power) ELSE 0e0 END AS DOUBLE)
                    / NULLIF((1e0 - $power) * (2e0 - $power), 0)
                - CAST(null_ratio AS DOUBLE) / NULLIF(1e0 - $power, 0)
                + 1e0 / NULLIF(2e0 - $power, 0)
            )
        END AS null_shape,
        is_outside,
        actual,
        weight,
        squares,
        n_rows
    FROM (
        SELECT
            slice,
            squared_error,
            (actual - mean_label) * (actual - mean_label) AS squared_deviation,
            CASE WHEN is_outside = 0 THEN predicted ELSE 1e0 END AS given,
            CASE WHEN is_outside = 0 THEN mean_label ELSE 1e0 END AS centre,
            CASE WHEN is_outside = 0 THEN CAST(actual AS DOUBLE) / NULLIF(predicted, 0) ELSE 1e0 END AS ratio,
            CASE WHEN is_outside = 0 THEN CAST(actual AS DOUBLE) / NULLIF(mean_label, 0) ELSE 1e0 END AS null_ratio,
            CASE WHEN is_outside = 0 THEN CAST(actual - predicted AS DOUBLE) / NULLIF(predicted, 0) ELSE 0e0 END AS gap,
            CASE WHEN is_outside = 0 THEN CAST(actual - mean_label AS DOUBLE) / NULLIF(mean_label, 0) ELSE 0e0 END AS null_gap,
            is_outside,
            actual,
            weight,
            squares,
            n_rows
        FROM (
            SELECT
                slice,
                actual,
                predicted,
                squared_error,
                mean_label,
                CASE
                    WHEN $power = 0 THEN 0
                    WHEN $power > 0 AND $power < 1 THEN 1
                    WHEN predicted <= 0 OR mean_label <= 0 THEN 1
                    WHEN $power >= 1 AND actual < 0 THEN 1
                    WHEN $power >= 2 AND actual = 0 THEN 1
                    ELSE 0
                END AS is_outside,
                weight,
                squares,
                n_rows
            FROM regression_rows
            JOIN regression_centres USING (slice)
            WHERE weight > 0
        ) AS domains
    ) AS ratios
) AS shapes
