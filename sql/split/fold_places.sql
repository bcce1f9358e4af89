/*
summary: the place of each unit within its stratum, for the folds
*/
SELECT
    slice,
    repeat,
    place,
    units,
    units_before
FROM shuffled
