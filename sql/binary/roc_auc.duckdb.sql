/*
summary: ROC AUC from the positives' mean ranks, one sort of the rows
formula: (R+ - P (P + 1) / 2) / (P N), R+ the sum of the positives' mean ranks
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
weights: none
since: 0.1.0
when: unweighted rows
*/
SELECT
    slice,
    -- The mean rank of a tie is the mean of its first rank and its last; the default frame of
    -- COUNT ends with the last of the ties.
    (5e-1 * SUM(CASE WHEN label = 1 THEN first_rank + last_rank ELSE 0 END)
        - 5e-1 * SUM(label) * (SUM(label) + 1))
        / NULLIF(CAST(SUM(label) AS DOUBLE) * SUM(1 - label), 0) AS value,
    CASE
        WHEN COALESCE(SUM(label), 0) = 0 THEN 'no positive labels'
        WHEN SUM(1 - label) = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        label,
        RANK() OVER (PARTITION BY slice ORDER BY score) AS first_rank,
        COUNT(*) OVER (PARTITION BY slice ORDER BY score) AS last_rank
    FROM predictions
) AS ranked
GROUP BY slice
