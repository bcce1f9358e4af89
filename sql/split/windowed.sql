/*
summary: what each unit is to each window of time, but for units that are later than it
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
