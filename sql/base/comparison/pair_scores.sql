/*
summary: positives and negatives at each score of a model and of the baseline, with its bucket
*/
SELECT
    slice,
    side,
    bucket,
    score,
    SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS positives,
    SUM(CASE WHEN label = 0 THEN weight ELSE 0 END) AS negatives
FROM pair_sides
GROUP BY
    slice,
    side,
    bucket,
    score
