/*
summary: >-
  a hold-out in which a row's role follows from its key alone, so that new rows never move old ones;
  the share of test rows is test_size on average, not exactly
formula: test where the hash as a number in [0, 1) is below test_size
params:
  test_size: float in (0, 1) = 0.3
reference: Géron (2019), Hands-On Machine Learning, chapter 2
since: 0.1.0
*/
SELECT
    slice,
    repeat,
    1 AS fold,
    CASE
        WHEN share < $test_size THEN 'test'
        ELSE 'train'
    END AS role
FROM hashes
