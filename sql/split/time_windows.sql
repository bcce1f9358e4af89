/*
summary: when each fold's test rows begin and end
*/
SELECT
    block AS fold,
    MIN(time) AS test_start,
    MAX(time) AS test_end
FROM time_blocks
WHERE block > 0
GROUP BY block
