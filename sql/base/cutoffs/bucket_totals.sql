/*
summary: >-
  positives and negatives per bucket; buckets are ranges of the score, numbered upwards, so that
  windows within them are small
*/
SELECT
    slice,
    bucket,
    SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS positives,
    SUM(CASE WHEN label = 0 THEN weight ELSE 0 END) AS negatives,
    SUM(CASE WHEN label = 1 THEN squares ELSE 0 END) AS positive_squares,
    SUM(CASE WHEN label = 0 THEN squares ELSE 0 END) AS negative_squares
FROM predictions
WHERE weight > 0
GROUP BY
    slice,
    bucket
