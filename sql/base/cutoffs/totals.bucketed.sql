/*
summary: total positives and negatives, summed over the buckets
*/
SELECT
    slice,
    SUM(positives) AS total_positives,
    SUM(negatives) AS total_negatives,
    SUM(positive_squares) AS total_positive_squares,
    SUM(negative_squares) AS total_negative_squares
FROM bucket_totals
GROUP BY slice
HAVING COUNT(*) > 0
