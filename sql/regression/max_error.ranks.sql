/*
summary: no ends, because errors beyond the largest one of the sample are unknown
*/
SELECT
    slice,
    -- The bootstrap would give an interval that does not reach beyond the sample either.
    CAST(NULL AS DOUBLE) AS lower,
    CAST(NULL AS DOUBLE) AS upper
FROM errors
WHERE weight > 0
GROUP BY slice
