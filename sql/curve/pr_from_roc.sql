/*
summary: >-
  the precision-recall curve computed from the ROC curve, at the sample's prevalence or at a given
  prior
formula: precision = tpr p / (tpr p + fpr (1 - p)), recall = tpr
params:
  prior: float in (0, 1) = null
order: threshold DESC, recall, precision DESC
chart: pr_curve
reference: Davis and Goadrich (2006), doi:10.1145/1143844.1143874, theorem 3.1
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    threshold,
    CASE WHEN tpr + fpr = 0 THEN 1e0
        ELSE CAST(tpr * prevalence AS DOUBLE)
            / NULLIF(tpr * prevalence + fpr * (1e0 - prevalence), 0)
    END AS precision,
    tpr AS recall
FROM (
    SELECT
        roc_curve.slice,
        roc_curve.threshold,
        roc_curve.fpr,
        roc_curve.tpr,
        COALESCE(
            $prior,
            CAST(totals.total_positives AS DOUBLE)
                / NULLIF(totals.total_positives + totals.total_negatives, 0)
        ) AS prevalence
    FROM roc_curve
    JOIN totals USING (slice)
) AS points
