/*
summary: >-
  rows per label and prediction, or their total weight, with the sum of squared weights, which is
  the variance of this total
*/
SELECT
    slice,
    label,
    prediction,
    SUM(weight) AS n,
    SUM(squares) AS n_squares
FROM decisions
GROUP BY
    slice,
    label,
    prediction
