/*
summary: >-
  k-fold cross-validation in which each training set is split again into its k - 1 folds: the
  validation rows choose a model, and the test rows, which had no part in the choice, judge it
formula: row of fold g is test in fold g, validation in fold f inner_fold g, train in fold f inner_fold h
reference: Varma and Simon (2006), Bias in error estimation when using cross-validation for model selection
since: 0.1.0
*/
SELECT
    slice,
    repeat,
    fold,
    CAST(NULL AS BIGINT) AS inner_fold,
    'test' AS role
FROM test_folds
UNION ALL
SELECT
    test_folds.slice,
    test_folds.repeat,
    pairs.fold,
    pairs.inner_fold,
    CASE
        WHEN test_folds.fold = pairs.inner_fold THEN 'validation'
        ELSE 'train'
    END AS role
FROM test_folds
CROSS JOIN fold_pairs AS pairs
WHERE test_folds.fold <> pairs.fold
