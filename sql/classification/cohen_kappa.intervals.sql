/*
summary: >-
  agreement between labels and predictions beyond the agreement that their frequencies give by
  chance
formula: (p_o - p_e) / (1 - p_e)
direction: higher
range: -1 .. 1
interval: delta
reference: sklearn.metrics.cohen_kappa_score
aliases: [cohen_kappa_score, kappa]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    class_totals.slice,
    -- Sums of products, as in matthews_corrcoef: the differences of squares would cancel.
    CASE WHEN MAX(total) - MAX(matched) > MAX(slack) THEN 1e0 END
        * SUM(
            CAST(matched AS DOUBLE) * (total - matched - missed - mistaken)
            - CAST(missed AS DOUBLE) * mistaken
        )
        / NULLIF(SUM(CAST(predicted AS DOUBLE) * (total - actual)), 0) AS value,
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
        WHEN MAX(total) - MAX(matched) <= MAX(slack) THEN 'one class is all that occurs and all that is predicted'
    END AS note
FROM class_totals
JOIN (
    -- Fleiss, Cohen and Everitt (1969), doi:10.1037/h0028106: 1 - kappa is the share of wrong rows
    -- divided by the share that chance gives. Linearised for weights.
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
