/*
summary: the distinct scores of positives, and how many have each
*/
SELECT
    slice,
    score,
    SUM(weight) AS positives
FROM predictions
WHERE
    label = 1
    AND weight > 0
GROUP BY
    slice,
    score
