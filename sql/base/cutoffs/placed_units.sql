/*
summary: the numbers of `score_units` in ascending order, each with its place and the one before it
across: slices
*/
SELECT
    unit,
    ROW_NUMBER() OVER (ORDER BY unit) AS place,
    LAG(unit) OVER (ORDER BY unit) AS unit_before
FROM (
    SELECT cell + label AS unit
    FROM score_units
) AS units
