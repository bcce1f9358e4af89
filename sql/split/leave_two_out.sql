/*
summary: each pair of rows, or groups, is tested by a model of all others
formula: as many folds as pairs of units, m * (m - 1) / 2
reference: sklearn.model_selection.LeavePGroupsOut
since: 0.1.0
*/
SELECT
    numbered.slice,
    numbered.repeat,
    pairs.fold,
    CASE
        WHEN numbered.place = pairs.first_place OR numbered.place = pairs.second_place THEN 'test'
        ELSE 'train'
    END AS role
FROM numbered
CROSS JOIN (
    SELECT
        firsts.place AS first_place,
        seconds.place AS second_place,
        ROW_NUMBER() OVER (ORDER BY firsts.place, seconds.place) AS fold
    FROM numbered AS firsts
    CROSS JOIN numbered AS seconds
    WHERE firsts.place < seconds.place
) AS pairs
