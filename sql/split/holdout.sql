/*
summary: one training set and one test set, at random
formula: >-
  ceil(test_size * rows) rows are tested, and of each stratum the same share to within one row
params:
  test_size: float in (0, 1) = 0.3
reference: sklearn.model_selection.StratifiedShuffleSplit
since: 0.1.0
*/
SELECT
    slice,
    repeat,
    1 AS fold,
    CASE
        WHEN place
            < FLOOR(CAST((units_before + units) * tested AS DOUBLE) / NULLIF(all_units, 0))
            - FLOOR(CAST(units_before * tested AS DOUBLE) / NULLIF(all_units, 0))
            THEN 'test'
        ELSE 'train'
    END AS role
FROM (
    SELECT
        slice,
        repeat,
        place,
        units,
        units_before,
        all_units,
        -- Subtract 1e-9, because 0.07 * 100 is slightly more than 7 in doubles. At least one unit
        -- is tested, and at least one trains.
        LEAST(
            GREATEST(CEIL($test_size * all_units - 1e-9), 1e0), CAST(all_units - 1 AS DOUBLE)
        ) AS tested
    FROM shuffled
) AS counted
