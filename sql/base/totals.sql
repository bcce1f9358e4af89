/*
summary: positives and negatives in all
*/
SELECT
    slice,
    SUM(positives) AS total_positives,
    SUM(negatives) AS total_negatives
FROM score_counts
GROUP BY slice
-- No rows make no totals, also where no slice groups them.
HAVING COUNT(*) > 0
