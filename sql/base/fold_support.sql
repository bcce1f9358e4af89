/*
summary: the weight of each of several matrices
*/
SELECT
    slice,
    SUM(weight) AS support
FROM predictions
GROUP BY slice
