/*
summary: place of each unit within its stratum, from which its fold follows
*/
SELECT
    slice,
    repeat,
    place,
    units,
    units_before
FROM shuffled
