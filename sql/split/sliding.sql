/*
summary: >-
  time in k + 1 blocks; each but the first is tested by a model of the rows in a window before it,
  but for a gap between
formula: "train: test_start - gap - window <= time < test_start - gap"
params:
  gap: float in [0, inf) = 0
  window: float in (0, inf) = null
reference: sklearn.model_selection.TimeSeriesSplit
since: 0.1.0
*/
SELECT
    units.slice,
    1 AS repeat,
    time_windows.fold,
    CASE
        WHEN units.time >= time_windows.test_start THEN 'test'
        WHEN units.time < time_windows.test_start - $gap THEN 'train'
        ELSE 'gap'
    END AS role
FROM units
CROSS JOIN time_windows
WHERE
    units.time <= time_windows.test_end
    AND units.time >= time_windows.test_start - $gap - $window
