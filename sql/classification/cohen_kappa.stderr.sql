/*
summary: standard error of kappa by the delta method, linearised for weights
*/
SELECT
    class_totals.slice,
    MAX(errors_of_cells.error) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2. The warning limit is 5. Rows outside the
    -- largest class are divided by 4, so 20 of them reach it.
    LEAST(
        COALESCE(1e0 * SUM(matched) * SUM(matched) / NULLIF(SUM(matched_squares), 0), 0e0),
        COALESCE(1e0 * SUM(missed) * SUM(missed) / NULLIF(SUM(missed_squares), 0), 0e0),
        25e-2 * (MAX(total) - MAX(actual))
            * (CAST(MAX(total) AS DOUBLE) / NULLIF(MAX(total_squares), 0)),
        25e-2 * (MAX(total) - MAX(predicted))
            * (CAST(MAX(total) AS DOUBLE) / NULLIF(MAX(total_squares), 0))
    ) AS support
FROM class_totals
JOIN (
    -- Fleiss, Cohen and Everitt (1969), doi:10.1037/h0028106: 1 - kappa is the share of wrong rows
    -- divided by the share expected by chance. Linearised for weights.
    SELECT
        slice,
        SQRT(SUM(n_squares * POWER(
            (right_deviation - CAST(wrong AS DOUBLE) / NULLIF(disagreement, 0) * chance_deviation)
                / NULLIF(disagreement, 0),
            2
        ))) / NULLIF(CAST(MAX(all_rows) AS DOUBLE), 0) AS error
    FROM agreement
    GROUP BY slice
) AS errors_of_cells USING (slice)
GROUP BY class_totals.slice
