/*
summary: each choice of p groups is tested by a model of all other groups
formula: as many folds as choices, m! / (p! (m - p)!) of m groups
reference: sklearn.model_selection.LeavePGroupsOut
since: 0.1.0
*/
SELECT
    numbered.slice,
    numbered.repeat,
    combinations.fold,
    CASE
        WHEN MAX(CASE WHEN numbered.place = combinations.place THEN 1 ELSE 0 END) = 1 THEN 'test'
        ELSE 'train'
    END AS role
FROM numbered
CROSS JOIN combinations
GROUP BY numbered.slice, numbered.repeat, combinations.fold
