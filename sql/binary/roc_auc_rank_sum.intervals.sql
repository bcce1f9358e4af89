/*
summary: ROC AUC from the rank sum of the positives, with the mean rank for ties
formula: (R+ - P (P + 1) / 2) / (P N)
direction: higher
range: 0 .. 1
reference: scipy.stats.mannwhitneyu
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
