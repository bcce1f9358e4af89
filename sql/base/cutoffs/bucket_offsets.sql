/*
summary: positives and negatives above each bucket, and in all
*/
SELECT
    slice,
    bucket,
    SUM(positives) OVER (
        PARTITION BY slice ORDER BY bucket DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - positives AS positives_above,
    SUM(negatives) OVER (
        PARTITION BY slice ORDER BY bucket DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - negatives AS negatives_above,
    SUM(positive_squares) OVER (
        PARTITION BY slice ORDER BY bucket DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - positive_squares AS positive_squares_above,
    SUM(negative_squares) OVER (
        PARTITION BY slice ORDER BY bucket DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - negative_squares AS negative_squares_above,
    SUM(positives) OVER (PARTITION BY slice) AS all_positives,
    SUM(negatives) OVER (PARTITION BY slice) AS all_negatives
FROM bucket_totals
