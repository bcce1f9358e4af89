/*
summary: >-
  precision, recall, F1, cost per row and number of rows predicted positive at each distinct score,
  from an infinite threshold down
formula: >-
  precision = tp / (tp + fp), recall = tp / P, f1 = 2 tp / (2 tp + fp + fn),
  cost = (cost_fn fn + cost_fp fp) / all at score >= threshold
params:
  cost_fn: float in (0, inf) = 1.0
  cost_fp: float in (0, inf) = 1.0
order: threshold DESC, n_predicted
band: [threshold, f1, thresholds]
chart:
  title: Threshold curve
  draw: thresholds
  columns: [threshold, f1, cost]
reference: sklearn.metrics.precision_recall_curve
task: two classes
types: {n_predicted: count}
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    threshold,
    CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0) AS precision,
    CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS recall,
    CAST(2 * tp AS DOUBLE) / NULLIF(tp + fp + total_positives, 0) AS f1,
    CAST($cost_fn * (total_positives - tp) + $cost_fp * fp AS DOUBLE)
        / NULLIF(total_positives + total_negatives, 0) AS cost,
    tp + fp AS n_predicted
FROM segments
WHERE tp + fp > tp_above + fp_above
UNION ALL
SELECT
    slice,
    CAST('Infinity' AS DOUBLE) AS threshold,
    CAST(NULL AS DOUBLE) AS precision,
    CASE WHEN total_positives > 0 THEN 0e0 END AS recall,
    CASE WHEN total_positives > 0 THEN 0e0 END AS f1,
    CAST($cost_fn * total_positives AS DOUBLE)
        / NULLIF(total_positives + total_negatives, 0) AS cost,
    0 AS n_predicted
FROM totals
