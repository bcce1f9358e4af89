/*
summary: score of each row, with its weight among the positives and among the negatives
*/
SELECT
    slice,
    CAST(score AS DOUBLE) AS score_low,
    CAST(score AS DOUBLE) AS score_high,
    CASE WHEN label = 1 THEN weight ELSE 0 END AS positives,
    CASE WHEN label = 0 THEN weight ELSE 0 END AS negatives
FROM predictions
WHERE weight > 0
