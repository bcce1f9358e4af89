/*
summary: >-
  area under the ROC curve within a list, ties counted half; every list with both classes counts alike
formula: pairs of a relevant item above an irrelevant one, ties half / all such pairs
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
aliases: [gauc, group_auc]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CAST(
        SUM(
            relevant * (total_irrelevant - irrelevant_above - 5e-1 * tied_irrelevant)
        ) AS DOUBLE
    ) / NULLIF(SUM(relevant) * MAX(total_irrelevant), 0) AS value,
    CASE
        WHEN SUM(relevant) = 0 THEN 'no relevant items'
        WHEN MAX(total_irrelevant) = 0 THEN 'no judged irrelevant items'
    END AS note
FROM ranked_items
GROUP BY slice
