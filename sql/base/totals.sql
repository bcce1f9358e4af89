/*
summary: total positives and negatives
*/
SELECT
    slice,
    SUM(positives) AS total_positives,
    SUM(negatives) AS total_negatives
FROM score_counts
GROUP BY slice
-- Without rows there is no row of totals, not even without slices.
HAVING COUNT(*) > 0
