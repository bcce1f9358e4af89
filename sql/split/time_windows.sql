/*
summary: first and last time of each fold's test rows
*/
SELECT
    block AS fold,
    MIN(time) AS test_start,
    MAX(time) AS test_end
FROM time_blocks
WHERE block > 0
GROUP BY block
