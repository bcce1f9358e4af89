/*
summary: standard error of the correlation by the delta method, linearised for weights
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
    -- Delta method (Agresti 2013, section 16.1), linearised for weights: the derivative is how much
    -- a row of a cell moves the coefficient.
    SELECT
        slice,
        SQRT(SUM(n_squares * POWER(
            CAST(right_deviation - chance_deviation AS DOUBLE)
                / NULLIF(SQRT(GREATEST(actual_diversity * predicted_diversity, 0e0)), 0)
                + CAST(disagreement - wrong AS DOUBLE) / NULLIF(SQRT(GREATEST(actual_diversity * predicted_diversity, 0e0)), 0)
                    * (
                        CAST(actual_deviation AS DOUBLE) / NULLIF(actual_diversity, 0)
                        + CAST(predicted_deviation AS DOUBLE) / NULLIF(predicted_diversity, 0)
                    ),
            2
        ))) / NULLIF(CAST(MAX(all_rows) AS DOUBLE), 0) AS error
    FROM agreement
    GROUP BY slice
) AS errors_of_cells USING (slice)
GROUP BY class_totals.slice
