/*
summary: training rows that are not earlier than the first test row
*/
SELECT
    repeat,
    fold,
    CAST(SUM(CASE WHEN role = 'train' AND time >= test_start THEN 1 ELSE 0 END) AS DOUBLE) AS found
FROM (
    SELECT
        repeat,
        fold,
        role,
        time,
        MIN(CASE WHEN role = 'test' THEN time END) OVER (PARTITION BY repeat, fold) AS test_start
    FROM assigned
) AS dated
GROUP BY repeat, fold
