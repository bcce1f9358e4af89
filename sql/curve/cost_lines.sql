/*
summary: >-
  cost line of each threshold, by its height at the two ends: fpr, where only negatives cost, and
  fnr, where only positives cost
formula: y = FPR (1 - x) + FNR x
order: threshold DESC, fpr, fnr DESC
chart:
  title: Cost lines, one a threshold
  draw: cost_lines
  columns: [fpr, fnr]
reference: Drummond and Holte (2006), doi:10.1007/s10994-006-8199-5
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    threshold,
    CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0) AS fpr,
    1e0 - CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS fnr
FROM segments
WHERE tp + fp > tp_above + fp_above
UNION ALL
SELECT
    slice,
    CAST('Infinity' AS DOUBLE) AS threshold,
    CASE WHEN total_negatives > 0 THEN 0e0 END AS fpr,
    CASE WHEN total_positives > 0 THEN 1e0 END AS fnr
FROM totals
