/*
summary: ROC AUC from the mean ranks of the positives
formula: (R+ - P (P + 1) / 2) / (P N), R+ the sum of the positives' mean ranks
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
task: two classes
weights: none
since: 0.2.0
when: unweighted rows
*/
-- The mean rank of a tie is half of its lowest rank and its highest, which is the number of rows up
-- to its score. Both come from one order: two windows of different orders within a key of the
-- folders are an internal error in DuckDB 2.0.
SELECT
    slice,
    CAST(SUM(CASE WHEN label = 1 THEN lowest_rank + highest_rank ELSE 0 END)
        - SUM(label) * (SUM(label) + 1) AS DOUBLE)
        / NULLIF(2e0 * SUM(label) * (COUNT(*) - SUM(label)), 0) AS value,
    CASE
        WHEN COALESCE(SUM(label), 0) = 0 THEN 'no positive labels'
        WHEN SUM(label) = COUNT(*) THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        label,
        RANK() OVER (PARTITION BY slice ORDER BY score) AS lowest_rank,
        COUNT(*) OVER (PARTITION BY slice ORDER BY score) AS highest_rank
    FROM predictions
) AS ranked
GROUP BY slice
