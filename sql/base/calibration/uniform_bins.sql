/*
summary: >-
  per bin of equal width: rows, squared weights, positives and the sum of probabilities
*/
SELECT
    slice,
    number,
    SUM(weight) AS n,
    SUM(squares) AS squared_weights,
    SUM(weight * label) AS positives,
    SUM(weight * p) AS score_sum
FROM binned_probabilities
GROUP BY
    slice,
    number
