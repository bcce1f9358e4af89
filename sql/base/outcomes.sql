/*
summary: counts of true and false positives and negatives (tp, fp, fn, tn)
*/
SELECT
    slice,
    SUM(CASE WHEN label = 1 AND prediction = 1 THEN n ELSE 0 END) AS tp,
    SUM(CASE WHEN label = 0 AND prediction = 1 THEN n ELSE 0 END) AS fp,
    SUM(CASE WHEN label = 1 AND prediction = 0 THEN n ELSE 0 END) AS fn,
    SUM(CASE WHEN label = 0 AND prediction = 0 THEN n ELSE 0 END) AS tn
FROM confusion
GROUP BY slice
