/*
summary: how often each class is true
*/
SELECT
    slice,
    label AS class,
    SUM(weight) AS support
FROM predictions
GROUP BY
    slice,
    label
