/*
summary: ROC AUC as the area under the curve, by trapezoids between distinct scores
formula: sum over thresholds of (fpr_i - fpr_(i-1)) (tpr_i + tpr_(i-1)) / 2
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
task: two classes
weights: frequency
bound: pairs
units: runs
since: 0.1.0
*/
SELECT
    slice,
    area AS value,
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
