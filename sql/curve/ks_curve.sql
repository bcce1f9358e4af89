/*
summary: >-
  share of the positives and share of the negatives at or above each score, and their distance
formula: tpr(t), fpr(t), |tpr(t) - fpr(t)|
order: threshold DESC
chart:
  title: Kolmogorov-Smirnov curves
  draw: ks
  columns: [threshold, tpr, fpr, distance]
  metric: [KS, ks]
reference: scipy.stats.ks_2samp
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    threshold,
    CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS tpr,
    CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0) AS fpr,
    ABS(CAST(tp AS DOUBLE) / NULLIF(total_positives, 0)
        - CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0)) AS distance
FROM segments
WHERE tp + fp > tp_above + fp_above
