/*
summary: >-
  rows per label and prediction, or their total weight, with the sum of squared weights that the
  variance of this total is
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
