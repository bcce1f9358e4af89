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
    -- With real-valued weights the sums are rounded; without the bounds the value could be slightly
    -- below 0.
    5e-1 + LEAST(
        GREATEST(
            CAST(SUM(positives * fp - negatives * tp) AS DOUBLE),
            -1e0 * SUM(positives) * SUM(negatives)
        ),
        1e0 * SUM(positives) * SUM(negatives)
    ) / NULLIF(2e0 * SUM(positives) * SUM(negatives), 0) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM cutoffs
GROUP BY slice
