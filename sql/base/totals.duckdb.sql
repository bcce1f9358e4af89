/*
summary: positives and negatives in all, without grouping by score first
when: unweighted rows
*/
SELECT
    slice,
    COUNT(CASE WHEN label = 1 THEN 1 END) AS total_positives,
    COUNT(CASE WHEN label = 0 THEN 1 END) AS total_negatives
FROM predictions
GROUP BY slice
-- No rows make no totals, also where no slice groups them.
HAVING COUNT(*) > 0
