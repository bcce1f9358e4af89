/*
summary: twice the area between the ROC curve and the diagonal
formula: 2 AUC - 1
direction: higher
range: -1 .. 1
reference: sklearn.metrics.roc_auc_score # 2 AUC - 1
aliases: [gini_coefficient]
task: two classes
weights: frequency
bound: pairs
units: runs
since: 0.1.0
*/
SELECT
    slice,
    2e0 * area - 1e0 AS value,
    2e0 * error AS stderr,
    disjoint_pairs AS pairs,
    reason AS note
FROM (
    SELECT
        slice,
        value AS area,
        stderr AS error,
        pairs AS disjoint_pairs,
        note AS reason
    FROM roc_auc
) AS areas
