/*
summary: standard error and value of the ROC AUC, both from roc_auc
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
