/*
summary: rows with a positive label, and all rows
*/
SELECT
    slice,
    SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS positives,
    SUM(weight) AS total
FROM predictions
GROUP BY slice
