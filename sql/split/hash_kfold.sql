/*
summary: >-
  k folds in which a row's fold follows from its key alone, so that new rows never move old ones;
  fold sizes are equal on average, not exactly
formula: tested in the fold floor(k * hash), the hash as a number in [0, 1)
params:
  n_splits: series in [2, 10000] = 10
reference: Géron (2019), Hands-On Machine Learning, chapter 2
since: 0.1.0
*/
SELECT
    hash_folds.slice,
    hash_folds.repeat,
    n_splits.i AS fold,
    CASE WHEN n_splits.i = hash_folds.fold THEN 'test' ELSE 'train' END AS role
FROM hash_folds
CROSS JOIN n_splits
