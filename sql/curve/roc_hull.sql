/*
summary: vertices of the upper convex hull of the ROC curve, from (0, 0) to (1, 1)
formula: the ROC points that are best for some costs and prevalence
order: threshold DESC, fpr, tpr
chart:
  title: Convex hull of the ROC curve
  x: [fpr, "False positive rate (1 - specificity)"]
  y: [tpr, "True positive rate (sensitivity)"]
  diagonal: chance
  ideal: true
  points: true
  metric: [AUC of the curve, roc_auc]
reference: scipy.spatial.ConvexHull
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    threshold,
    CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0) AS fpr,
    CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS tpr
FROM convex_hull
