/*
summary: twice the area between the ROC curve and the diagonal
formula: 2 AUC - 1
direction: higher
range: -1 .. 1
test: delong
scale: 2
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
    -- With real-valued weights the sums are rounded; without the bounds the value could be slightly
    -- above 1.
    LEAST(
        GREATEST(
            CAST(SUM(negatives * tp - positives * fp) AS DOUBLE),
            -1e0 * SUM(positives) * SUM(negatives)
        ),
        1e0 * SUM(positives) * SUM(negatives)
    ) / NULLIF(1e0 * SUM(positives) * SUM(negatives), 0) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM cutoffs
GROUP BY slice
