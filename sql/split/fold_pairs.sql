/*
summary: all ordered pairs of two different folds
params:
  n_splits: series in [2, 10000] = 10
*/
SELECT
    n_splits.i AS fold,
    others.i AS inner_fold
FROM n_splits
CROSS JOIN n_splits AS others
WHERE n_splits.i <> others.i
