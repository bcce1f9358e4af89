/*
summary: >-
  share of the pairs of a true and a false label in which the false one has at least the score of
  the true one; 0 for a row with all labels or none
formula: (pairs in the wrong order or tied) / (true labels * false labels)
direction: lower
range: 0 .. 1
reference: sklearn.metrics.label_ranking_loss
task: many labels
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    COALESCE(
        CAST(SUM(CASE WHEN label = 1 THEN reached - reached_true ELSE 0 END) AS DOUBLE)
            / NULLIF(SUM(label) * (COUNT(*) - SUM(label)), 0),
        0e0
    ) AS value
FROM ranked_labels
GROUP BY slice
