/*
summary: rows, positives and sum of probabilities in each bin of equal width
*/
SELECT
    slice,
    number,
    SUM(weight) AS n,
    SUM(weight * label) AS positives,
    SUM(weight * p) AS score_sum
FROM calibration_places
GROUP BY
    slice,
    number
