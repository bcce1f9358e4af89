/*
summary: positives and negatives per bin of scores, with the lowest and highest score of the bin
*/
SELECT
    slice,
    score AS bin,
    MIN(score_low) AS lowest,
    MAX(score_high) AS highest,
    SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS bin_positives,
    SUM(CASE WHEN label = 0 THEN weight ELSE 0 END) AS bin_negatives,
    SUM(CASE WHEN label = 1 THEN squares ELSE 0 END) AS bin_positive_squares,
    SUM(CASE WHEN label = 0 THEN squares ELSE 0 END) AS bin_negative_squares
FROM predictions
WHERE weight > 0
GROUP BY
    slice,
    score
