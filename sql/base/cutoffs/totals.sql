/*
summary: total positives and negatives
*/
SELECT
    slice,
    SUM(positives) AS total_positives,
    SUM(negatives) AS total_negatives,
    SUM(positive_squares) AS total_positive_squares,
    SUM(negative_squares) AS total_negative_squares
FROM score_counts
GROUP BY slice
-- Without rows there is no row of totals, not even without slices.
HAVING COUNT(*) > 0
