/*
summary: >-
  rows that a model or the baseline alone predicts correctly, among all rows, the positives and the
  negatives
reference: McNemar (1947)
*/
SELECT
    slice,
    COUNT(*) AS n,
    SUM(CASE WHEN prediction = label THEN 1 ELSE 0 END) AS hits,
    SUM(CASE WHEN baseline_prediction = label THEN 1 ELSE 0 END) AS baseline_hits,
    SUM(CASE WHEN prediction = label AND baseline_prediction <> label THEN 1 ELSE 0 END) AS wins,
    SUM(CASE WHEN prediction <> label AND baseline_prediction = label THEN 1 ELSE 0 END) AS losses
FROM pairs
GROUP BY slice
