/*
summary: >-
  role of each unit (train, gap or test) in each fold by time; units later than a fold's test rows
  are left out
params:
  gap: float in [0, inf) = 0
*/
SELECT
    units.slice,
    units.time,
    time_windows.fold,
    time_windows.test_start,
    CASE
        WHEN units.time >= time_windows.test_start THEN 'test'
        WHEN units.time < time_windows.test_start - $gap THEN 'train'
        ELSE 'gap'
    END AS part
FROM units
CROSS JOIN time_windows
WHERE units.time <= time_windows.test_end
