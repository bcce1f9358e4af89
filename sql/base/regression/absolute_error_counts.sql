/*
summary: rows of each distinct absolute error; a strip is the error rounded to nine significant bits
*/
SELECT
    slice,
    amount,
    CASE
        WHEN amount > 1e290 THEN 2e290
        ELSE 1.7592186044417e13 * amount - (1.7592186044417e13 * amount - amount)
    END AS strip,
    mass
FROM (
    SELECT
        slice,
        ABS(prediction - label) AS amount,
        SUM(weight) AS mass
    FROM predictions
    WHERE weight > 0
    GROUP BY
        slice,
        ABS(prediction - label)
) AS counted
