/*
summary: >-
  agreement between labels and predictions beyond the agreement that their frequencies give by
  chance
formula: (p_o - p_e) / (1 - p_e)
direction: higher
range: -1 .. 1
reference: sklearn.metrics.cohen_kappa_score
aliases: [cohen_kappa_score, kappa]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    -- With real-valued weights a sum that should be 0 is off by rounding, hence the 1e-13.
    CASE WHEN SUM(actual) - MAX(matched) > 1e-13 * SUM(actual) THEN 1e0 END
        * (CAST(SUM(matched) AS DOUBLE) * SUM(actual) - SUM(CAST(actual AS DOUBLE) * predicted))
        / NULLIF(
            CAST(SUM(actual) AS DOUBLE) * SUM(actual) - SUM(CAST(actual AS DOUBLE) * predicted),
            0
        ) AS value,
    CASE
        WHEN SUM(actual) = 0 THEN 'total weight is 0'
        WHEN SUM(actual) - MAX(matched) <= 1e-13 * SUM(actual) THEN 'one class is all that occurs and all that is predicted'
    END AS note
FROM class_counts
GROUP BY slice
