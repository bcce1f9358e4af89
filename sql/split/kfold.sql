/*
summary: each row is tested in one of k folds and used for training in the others
formula: within a stratum the folds' sizes differ by at most one row, and so they do over all
params:
  n_splits: series in [2, 10000] = 10
reference: sklearn.model_selection.StratifiedKFold
since: 0.1.0
*/
SELECT
    test_folds.slice,
    test_folds.repeat,
    n_splits.i AS fold,
    CASE WHEN n_splits.i = test_folds.fold THEN 'test' ELSE 'train' END AS role
FROM test_folds
CROSS JOIN n_splits
