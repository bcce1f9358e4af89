/*
summary: keys that occur more than once in a fold, so that a row may be in both training and test
*/
SELECT
    repeat,
    fold,
    CAST(COUNT(*) AS DOUBLE) AS found
FROM (
    SELECT
        slice,
        repeat,
        fold,
        COUNT(*) AS roles
    FROM assigned
    GROUP BY slice, repeat, fold
) AS counted
WHERE roles > 1
GROUP BY repeat, fold
