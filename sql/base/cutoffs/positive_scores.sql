/*
summary: distinct scores of the positives, with the number of positives at each
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
