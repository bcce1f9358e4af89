/*
summary: >-
  share of positive-negative pairs in the wrong order, ties counting one half; the area above the
  ROC curve
formula: sum over pairs ([s+ < s-] + [s+ = s-] / 2) / (P N) = 1 - AUC
direction: lower
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score # 1 - AUC
task: two classes
weights: frequency
bound: pairs
units: runs
since: 0.1.0
*/
SELECT
    slice,
    1e0 - area AS value,
    error AS stderr,
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
