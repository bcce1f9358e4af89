/*
summary: true positive rate minus false positive rate, at the threshold
formula: tpr - fpr = recall + specificity - 1
direction: higher
range: -1 .. 1
interval: delta
reference: sklearn.metrics.balanced_accuracy_score # adjusted=True
aliases: [informedness, j_statistic, youden]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(tp AS DOUBLE) / NULLIF(tp + fn, 0) - CAST(fp AS DOUBLE) / NULLIF(fp + tn, 0) AS value,
    CASE
        WHEN tp + fn = 0 THEN 'no positive labels'
        WHEN fp + tn = 0 THEN 'no negative labels'
    END AS note
FROM outcomes
