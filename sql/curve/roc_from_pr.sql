/*
summary: >-
  the ROC curve computed from the precision-recall curve; NULL where precision is 0, because the
  false positive rate does not follow from it
formula: fpr = recall P (1 - precision) / (precision N), tpr = recall
order: threshold DESC, fpr, tpr
chart: roc_curve
reference: Davis and Goadrich (2006), doi:10.1145/1143844.1143874, theorem 3.1
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    pr_curve.slice,
    pr_curve.threshold,
    CAST(pr_curve.recall AS DOUBLE) * totals.total_positives * (1e0 - pr_curve.precision)
        / NULLIF(pr_curve.precision * totals.total_negatives, 0) AS fpr,
    CASE WHEN pr_curve.precision > 0 THEN pr_curve.recall END AS tpr
FROM pr_curve
JOIN totals USING (slice)
