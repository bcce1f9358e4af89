/*
summary: total weight of each confusion matrix, such as that of a fold
*/
SELECT
    slice,
    SUM(weight) AS support
FROM predictions
GROUP BY slice
