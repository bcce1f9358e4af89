/*
summary: >-
  agreement between labels and predictions beyond the agreement expected by chance from their
  frequencies
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
    slice,
    -- Sums of products are used, as in matthews_corrcoef, because differences of squares would
    -- cancel.
    CASE WHEN MAX(total) - MAX(matched) > MAX(slack) THEN 1e0 END
        * SUM(
            CAST(matched AS DOUBLE) * (total - matched - missed - mistaken)
            - CAST(missed AS DOUBLE) * mistaken
        )
        / NULLIF(SUM(CAST(predicted AS DOUBLE) * (total - actual)), 0) AS value,
    CASE
        WHEN SUM(actual) = 0 THEN 'total weight is 0'
        WHEN MAX(total) - MAX(matched) <= MAX(slack) THEN 'one class is all that occurs and all that is predicted'
    END AS note
FROM class_totals
GROUP BY slice
