/*
summary: place of each unit within its stratum, which determines its fold
*/
SELECT
    slice,
    repeat,
    place,
    units,
    units_before
FROM shuffled
