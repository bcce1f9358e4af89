/*
summary: each fold with each of the others
params:
  n_splits: series in [2, 10000] = 10
*/
SELECT
    n_splits.i AS fold,
    others.i AS inner_fold
FROM n_splits
CROSS JOIN n_splits AS others
WHERE n_splits.i <> others.i
