/*
summary: weight of each row of many labels that has one; it stands beside each of its labels
*/
SELECT
    slice,
    MAX(weight) AS support
FROM predictions
GROUP BY slice
HAVING MAX(weight) > 0
