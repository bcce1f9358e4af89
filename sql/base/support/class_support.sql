/*
summary: >-
  per class: number of rows with this label, or their total weight, with the sum of squared weights
*/
SELECT
    slice,
    label AS class,
    SUM(weight) AS support,
    SUM(squares) AS support_squares
FROM predictions
GROUP BY
    slice,
    label
