/*
summary: >-
  the latest rows for testing and the earlier ones for training, except those in the gap; rows of
  the same time stay together
formula: >-
  tested from the first time on that has no more than test_size of the rows at or after it; if the
  last time has more, its rows are tested
params:
  test_size: float in (0, 1) = 0.3
  gap: float in [0, inf) = 0
reference: Hyndman and Athanasopoulos (2021), Forecasting, section 5.8
since: 0.1.0
*/
SELECT
    units.slice,
    1 AS repeat,
    1 AS fold,
    CASE
        WHEN units.time >= starts.test_start THEN 'test'
        WHEN units.time < starts.test_start - $gap THEN 'train'
        ELSE 'gap'
    END AS role
FROM units
CROSS JOIN (
    SELECT
        COALESCE(
            MIN(CASE WHEN all_units - units_before <= $test_size * all_units + 1e-9 THEN time END),
            MAX(time)
        ) AS test_start
    FROM timeline
) AS starts
