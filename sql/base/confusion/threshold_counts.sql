/*
summary: >-
  rows per label and largest threshold reached, or their total weight, with the sum of squared
  weights
*/
SELECT
    slice,
    label,
    reached,
    SUM(weight) AS n,
    SUM(squares) AS n_squares
FROM reached_thresholds
GROUP BY
    slice,
    label,
    reached
