/*
summary: standard error of the rank loss, equal to the ROC AUC's; the value is from the same area
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
