/*
summary: standard error of kappa by the delta method, linearised for weights
*/
SELECT
    slice,
    -- Fleiss, Cohen and Everitt (1969), doi:10.1037/h0028106: 1 - kappa is the mean distance
    -- divided by the one expected by chance. Linearised for weights.
    SQRT(SUM(n_squares * POWER(
        CAST(
            distance - observed
            - CAST(observed AS DOUBLE) / NULLIF(expected, 0)
                * (from_predictions + from_labels - 2e0 * expected)
            AS DOUBLE
        ) / NULLIF(expected, 0),
        2
    ))) / NULLIF(CAST(MAX(total) AS DOUBLE), 0) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2. The warning limit is 5. Rows outside the
    -- largest class are divided by 4, so 20 of them reach it.
    LEAST(
        COALESCE(
            POWER(CAST(SUM(CASE WHEN distance = 0 THEN n ELSE 0 END) AS DOUBLE), 2)
                / NULLIF(SUM(CASE WHEN distance = 0 THEN n_squares ELSE 0 END), 0),
            0e0
        ),
        COALESCE(
            POWER(CAST(SUM(CASE WHEN distance > 0 THEN n ELSE 0 END) AS DOUBLE), 2)
                / NULLIF(SUM(CASE WHEN distance > 0 THEN n_squares ELSE 0 END), 0),
            0e0
        ),
        25e-2 * (MAX(total) - MAX(actual)) * (CAST(MAX(total) AS DOUBLE) / NULLIF(SUM(n_squares), 0)),
        25e-2 * (MAX(total) - MAX(predicted))
            * (CAST(MAX(total) AS DOUBLE) / NULLIF(SUM(n_squares), 0))
    ) AS support
FROM disagreement
GROUP BY slice
