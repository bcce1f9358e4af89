/*
summary: mean of a value of each row, undefined if a row has none
*/
SELECT
    slice,
    CASE WHEN SUM(is_undefined) = 0 THEN
        CAST(SUM(weight * row_value) AS DOUBLE) / NULLIF(SUM(weight), 0) END AS value,
    CASE WHEN SUM(is_undefined) > 0 THEN 'the reason of the file' END AS note
FROM row_values
WHERE weight > 0
GROUP BY slice
