/*
summary: >-
  rows with a positive label, and all rows, or their total weights, with the sums of squared weights
*/
SELECT
    slice,
    SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS positives,
    SUM(weight) AS total,
    SUM(CASE WHEN label = 1 THEN squares ELSE 0 END) AS positive_squares,
    SUM(squares) AS total_squares
FROM predictions
GROUP BY slice
