/*
summary: test rows that equal a training row in everything but the key
*/
SELECT
    repeat,
    fold,
    CAST(SUM(test_rows) AS DOUBLE) AS found
FROM (
    SELECT
        content,
        repeat,
        fold,
        SUM(CASE WHEN role = 'test' THEN 1 ELSE 0 END) AS test_rows,
        SUM(CASE WHEN role = 'train' THEN 1 ELSE 0 END) AS training_rows
    FROM assigned
    GROUP BY content, repeat, fold
) AS counted
WHERE test_rows > 0 AND training_rows > 0
GROUP BY repeat, fold
