/*
summary: ROC AUC as the area under the curve, by trapezoids between distinct scores
formula: sum over thresholds of (fpr_i - fpr_(i-1)) (tpr_i + tpr_(i-1)) / 2
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
same_as: roc_auc
task: two classes
weights: frequency
bound: pairs
units: runs
since: 0.1.0
*/
SELECT
    slice,
    5e-1 * SUM((fp - fp_above) * (CAST(tp AS DOUBLE) + tp_above))
        / NULLIF(CAST(MAX(total_positives) AS DOUBLE) * MAX(total_negatives), 0) AS value,
    CASE
        WHEN COALESCE(MAX(total_positives), 0) = 0 THEN 'no positive labels'
        WHEN MAX(total_negatives) = 0 THEN 'no negative labels'
    END AS note
FROM segments
GROUP BY slice
