/*
summary: >-
  counts of true and false positives and negatives (tp, fp, fn, tn), or their total weights, with the
  sums of squared weights
*/
SELECT
    slice,
    SUM(CASE WHEN label = 1 AND prediction = 1 THEN n ELSE 0 END) AS tp,
    SUM(CASE WHEN label = 0 AND prediction = 1 THEN n ELSE 0 END) AS fp,
    SUM(CASE WHEN label = 1 AND prediction = 0 THEN n ELSE 0 END) AS fn,
    SUM(CASE WHEN label = 0 AND prediction = 0 THEN n ELSE 0 END) AS tn,
    SUM(CASE WHEN label = 1 AND prediction = 1 THEN n_squares ELSE 0 END) AS tp_squares,
    SUM(CASE WHEN label = 0 AND prediction = 1 THEN n_squares ELSE 0 END) AS fp_squares,
    SUM(CASE WHEN label = 1 AND prediction = 0 THEN n_squares ELSE 0 END) AS fn_squares,
    SUM(CASE WHEN label = 0 AND prediction = 0 THEN n_squares ELSE 0 END) AS tn_squares
FROM decision_counts
GROUP BY slice
