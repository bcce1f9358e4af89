/*
summary: each distinct value, and the rows up to it, which are its rank, in one window
*/
SELECT
    slice,
    amount,
    SUM(n) OVER (PARTITION BY slice ORDER BY amount) AS reached,
    SUM(n) OVER (PARTITION BY slice) AS total
FROM value_counts
WHERE n > 0
