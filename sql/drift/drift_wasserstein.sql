/*
summary: >-
  Wasserstein distance of order 1: how far the rows of one sample must be moved on average to
  become the other one, in units of the score
formula: integral of |F - G|
range: 0 ..
reference: scipy.stats.wasserstein_distance
*/
SELECT
    slice,
    value_at_middles AS drift,
    -- Each row is at most half the width of its bin away from the middle.
    CASE WHEN value_at_middles > width THEN value_at_middles - width ELSE 0e0 * width END AS low,
    value_at_middles + width AS high
FROM (
    SELECT
        slice,
        SUM(distance_in_gap) AS value_at_middles,
        MAX(width_of_slice) AS width
    FROM (
        SELECT
            slice,
            ABS(
                CAST(reference_until AS DOUBLE) / NULLIF(reference_total, 0)
                - CAST(current_until AS DOUBLE) / NULLIF(current_total, 0)
            ) * gap AS distance_in_gap,
            5e-1 * (
                CAST(reference_width AS DOUBLE) / NULLIF(reference_total, 0)
                + CAST(current_width AS DOUBLE) / NULLIF(current_total, 0)
            ) AS width_of_slice
        FROM (
            SELECT
                slice,
                SUM(reference_rows) OVER (PARTITION BY slice ORDER BY middle)
                    AS reference_until,
                SUM(current_rows) OVER (PARTITION BY slice ORDER BY middle)
                    AS current_until,
                COALESCE(LEAD(middle) OVER (PARTITION BY slice ORDER BY middle) - middle, 0e0)
                    AS gap
            FROM (
                SELECT
                    slice,
                    5e-1 * lowest + 5e-1 * highest AS middle,
                    SUM(of_reference) AS reference_rows,
                    SUM(of_current) AS current_rows
                FROM drift_scores
                GROUP BY
                    slice,
                    5e-1 * lowest + 5e-1 * highest
            ) AS middles
        ) AS cumulated
        INNER JOIN drift_totals USING (slice)
        -- Infinite scores have no distance.
        WHERE largest <= 1.7976931348623157e308
    ) AS distances
    GROUP BY slice
) AS sums
