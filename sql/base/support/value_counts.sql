/*
summary: rows of each distinct value
*/
SELECT
    slice,
    value AS amount,
    SUM(weight) AS n
FROM predictions
GROUP BY
    slice,
    value
