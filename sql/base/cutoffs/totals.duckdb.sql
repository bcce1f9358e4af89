/*
summary: total positives and negatives, without grouping by score first
when: unweighted rows
*/
SELECT
    slice,
    COUNT(CASE WHEN label = 1 THEN 1 END) AS total_positives,
    COUNT(CASE WHEN label = 0 THEN 1 END) AS total_negatives,
    COUNT(CASE WHEN label = 1 THEN 1 END) AS total_positive_squares,
    COUNT(CASE WHEN label = 0 THEN 1 END) AS total_negative_squares
FROM predictions
GROUP BY slice
-- Without rows there is no row of totals, not even without slices.
HAVING COUNT(*) > 0
