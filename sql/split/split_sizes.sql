/*
summary: number of training and test rows per fold
*/
SELECT
    repeat,
    fold,
    SUM(CASE WHEN role = 'train' THEN 1 ELSE 0 END) AS training_rows,
    SUM(CASE WHEN role = 'test' THEN 1 ELSE 0 END) AS test_rows
FROM assigned
GROUP BY repeat, fold
