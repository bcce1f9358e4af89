/*
summary: false and true positive rate at each distinct score, from an infinite threshold down
formula: fpr = fp / N, tpr = tp / P at score >= threshold
params:
  drop_intermediate: bool = false
order: threshold DESC, fpr, tpr
band: [fpr, tpr, lines]
direction: higher
chart:
  title: ROC curve
  x: [fpr, "False positive rate (1 - specificity)"]
  y: [tpr, "True positive rate (sensitivity)"]
  diagonal: chance
  ideal: true
  metric: [AUC, roc_auc]
reference: sklearn.metrics.roc_curve
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    threshold,
    CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0) AS fpr,
    CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS tpr
FROM (
    SELECT
        slice,
        threshold,
        fp,
        tp,
        total_negatives,
        total_positives,
        LAG(fp) OVER (PARTITION BY slice ORDER BY threshold DESC) AS fp_before,
        LAG(tp) OVER (PARTITION BY slice ORDER BY threshold DESC) AS tp_before,
        LEAD(fp) OVER (PARTITION BY slice ORDER BY threshold DESC) AS fp_below,
        LEAD(tp) OVER (PARTITION BY slice ORDER BY threshold DESC) AS tp_below
    FROM segments
    WHERE tp + fp > tp_above + fp_above
) AS neighbours
-- A point on the straight line between its neighbours can be dropped: the area stays the same.
WHERE
    NOT $drop_intermediate
    OR fp_before IS NULL
    OR fp_below IS NULL
    OR fp_below - fp <> fp - fp_before
    OR tp_below - tp <> tp - tp_before
UNION ALL
SELECT
    slice,
    CAST('Infinity' AS DOUBLE) AS threshold,
    CASE WHEN total_negatives > 0 THEN 0e0 END AS fpr,
    CASE WHEN total_positives > 0 THEN 0e0 END AS tpr
FROM totals
