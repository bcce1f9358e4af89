/*
summary: positives and negatives at each distinct score, with its bucket
*/
SELECT
    slice,
    bucket,
    score AS score_low,
    score AS score_high,
    SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS positives,
    SUM(CASE WHEN label = 0 THEN weight ELSE 0 END) AS negatives,
    SUM(CASE WHEN label = 1 THEN squares ELSE 0 END) AS positive_squares,
    SUM(CASE WHEN label = 0 THEN squares ELSE 0 END) AS negative_squares
FROM predictions
WHERE weight > 0
GROUP BY
    slice,
    bucket,
    score
