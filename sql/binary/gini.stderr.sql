/*
summary: >-
  standard error of the Gini coefficient, twice the ROC AUC's; the value is from the same area
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
