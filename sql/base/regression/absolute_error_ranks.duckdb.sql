/*
summary: each distinct absolute error, and the rows up to it, which are its rank, in one window
*/
SELECT
    slice,
    amount,
    mass,
    SUM(mass) OVER (PARTITION BY slice ORDER BY amount) AS reached,
    SUM(mass) OVER (PARTITION BY slice) AS total
FROM absolute_error_counts
