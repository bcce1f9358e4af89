/*
summary: >-
  over the true labels of a row, the mean share of true labels among those with at least their
  score; 1 for a row with all labels or none
formula: mean over true labels of (true labels reached) / (labels reached)
direction: higher
range: 0 .. 1
reference: sklearn.metrics.label_ranking_average_precision_score
aliases: [label_ranking_average_precision_score, lrap]
task: many labels
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    -- Any order is right for a row with all labels or none.
    CASE
        WHEN SUM(label) = 0 OR SUM(label) = COUNT(*) THEN 1e0
        ELSE AVG(CASE WHEN label = 1 THEN CAST(reached_true AS DOUBLE) / NULLIF(reached, 0) END)
    END AS value
FROM ranked_labels
GROUP BY slice
