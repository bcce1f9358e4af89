/*
summary: >-
  per class: number of rows with this label, or their total weight
*/
SELECT
    slice,
    label AS class,
    SUM(weight) AS support
FROM predictions
GROUP BY
    slice,
    label
