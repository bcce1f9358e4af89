/*
summary: >-
  counts of true and false positives and negatives (tp, fp, fn, tn), or their total weights, with the
  sums of squared weights
*/
SELECT
    slice,
    -- One aggregation: rows of many labels have many slices, each with few labels.
    SUM(CASE WHEN label = 1 AND prediction = 1 THEN weight ELSE 0 END) AS tp,
    SUM(CASE WHEN label = 0 AND prediction = 1 THEN weight ELSE 0 END) AS fp,
    SUM(CASE WHEN label = 1 AND prediction = 0 THEN weight ELSE 0 END) AS fn,
    SUM(CASE WHEN label = 0 AND prediction = 0 THEN weight ELSE 0 END) AS tn,
    SUM(CASE WHEN label = 1 AND prediction = 1 THEN squares ELSE 0 END) AS tp_squares,
    SUM(CASE WHEN label = 0 AND prediction = 1 THEN squares ELSE 0 END) AS fp_squares,
    SUM(CASE WHEN label = 1 AND prediction = 0 THEN squares ELSE 0 END) AS fn_squares,
    SUM(CASE WHEN label = 0 AND prediction = 0 THEN squares ELSE 0 END) AS tn_squares
FROM decisions
GROUP BY slice
