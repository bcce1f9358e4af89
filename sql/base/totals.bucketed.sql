/*
summary: total positives and negatives, from those of the buckets
*/
SELECT
    slice,
    SUM(positives) AS total_positives,
    SUM(negatives) AS total_negatives
FROM bucket_totals
GROUP BY slice
HAVING COUNT(*) > 0
