/*
summary: each row, or each group, is tested alone by a model of all others
formula: as many folds as units; m rows are m models and m * m roles
reference: sklearn.model_selection.LeaveOneOut and LeavePGroupsOut
since: 0.1.0
*/
SELECT
    slice,
    repeat,
    place + 1 AS fold,
    'test' AS role
FROM numbered
UNION ALL
SELECT
    numbered.slice,
    numbered.repeat,
    folds.place + 1 AS fold,
    'train' AS role
FROM numbered
CROSS JOIN numbered AS folds
WHERE folds.place <> numbered.place
