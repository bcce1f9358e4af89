/*
summary: each row, or each group, is tested alone, by a model of all others
formula: as many folds as units; m rows are m models and m * m roles
reference: sklearn.model_selection.LeaveOneOut and LeavePGroupsOut
since: 0.1.0
*/
SELECT
    numbered.slice,
    numbered.repeat,
    folds.place + 1 AS fold,
    CASE WHEN folds.place = numbered.place THEN 'test' ELSE 'train' END AS role
FROM numbered
CROSS JOIN numbered AS folds
