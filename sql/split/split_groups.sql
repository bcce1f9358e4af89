/*
summary: groups with rows in both training and test
*/
SELECT
    repeat,
    fold,
    CAST(COUNT(*) AS DOUBLE) AS found
FROM (
    SELECT
        grouping_key,
        repeat,
        fold,
        MIN(role) AS first_role,
        MAX(role) AS last_role
    FROM assigned
    GROUP BY grouping_key, repeat, fold
) AS counted
WHERE first_role = 'test' AND last_role = 'train'
GROUP BY repeat, fold
