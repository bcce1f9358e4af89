/*
summary: correlation between labels and predictions, for two or more classes
formula: (c s - sum_k p_k t_k) / sqrt((s^2 - sum_k p_k^2) (s^2 - sum_k t_k^2))
direction: higher
range: -1 .. 1
interval: delta
reference: sklearn.metrics.matthews_corrcoef
aliases: [mcc, phi_coefficient]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    class_totals.slice,
    -- As DOUBLE before multiplying: the product of two counts overflows BIGINT on other engines.
    -- Every sum is written as one of products, such as sum_k p_k (s - p_k) for s^2 - sum_k p_k^2:
    -- the differences of squares would cancel where a class is rare.
    CASE
        WHEN MAX(total) - MAX(actual) > MAX(slack) AND MAX(total) - MAX(predicted) > MAX(slack)
        THEN 1e0
    END
    -- With one class and real weights a sum may be below 0 by rounding, which has no root. The two
    -- roots are rounded, too; without the bounds the value could be slightly outside -1 .. 1.
    * LEAST(
        GREATEST(
            SUM(
                CAST(matched AS DOUBLE) * (total - matched - missed - mistaken)
                - CAST(missed AS DOUBLE) * mistaken
            )
                / NULLIF(
                    SQRT(GREATEST(SUM(CAST(predicted AS DOUBLE) * (total - predicted)), 0e0))
                    * SQRT(GREATEST(SUM(CAST(actual AS DOUBLE) * (total - actual)), 0e0)),
                    0
                ),
            -1e0
        ),
        1e0
    ) AS value,
    MAX(errors_of_cells.error) AS stderr,
    -- The effective numbers of rows, (sum w)^2 / sum w^2. 20 rows outside the largest class are
    -- enough, of a count 5: they count a quarter.
    LEAST(
        COALESCE(1e0 * SUM(matched) * SUM(matched) / NULLIF(SUM(matched_squares), 0), 0e0),
        COALESCE(1e0 * SUM(missed) * SUM(missed) / NULLIF(SUM(missed_squares), 0), 0e0),
        25e-2 * (MAX(total) - MAX(actual))
            * (CAST(MAX(total) AS DOUBLE) / NULLIF(MAX(total_squares), 0)),
        25e-2 * (MAX(total) - MAX(predicted))
            * (CAST(MAX(total) AS DOUBLE) / NULLIF(MAX(total_squares), 0))
    ) AS support,
    CASE
        WHEN SUM(actual) = 0 THEN 'total weight is 0'
        WHEN MAX(total) - MAX(actual) <= MAX(slack) THEN 'only one class among the labels'
        WHEN MAX(total) - MAX(predicted) <= MAX(slack) THEN 'only one class is predicted'
    END AS note
FROM class_totals
JOIN (
    -- Delta method (Agresti 2013, section 16.1), linearised for weights: how much a row of a cell
    -- moves the coefficient.
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
