/*
summary: place of each unit among all units, from 0, in the order of the hashes
*/
SELECT
    slice,
    repeat,
    ROW_NUMBER() OVER (PARTITION BY repeat ORDER BY digest) - 1 AS place
FROM hashes
