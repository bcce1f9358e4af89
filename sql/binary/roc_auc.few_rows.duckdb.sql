/*
summary: ROC AUC from the rows below and above each positive
formula: (#(s+ > s-) - #(s+ < s-) + P N) / (2 P N)
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
task: two classes
weights: none
since: 0.2.0
when: unweighted rows
*/
-- The rank in rising order less the rank in falling order is the number of rows below a row less
-- the number above it. In the sum over the positives, pairs of two positives cancel out.
SELECT
    slice,
    CAST(SUM(CASE WHEN label = 1 THEN low_rank - high_rank ELSE 0 END)
        + SUM(label) * (COUNT(*) - SUM(label)) AS DOUBLE)
        / NULLIF(2e0 * SUM(label) * (COUNT(*) - SUM(label)), 0) AS value,
    CASE
        WHEN COALESCE(SUM(label), 0) = 0 THEN 'no positive labels'
        WHEN SUM(label) = COUNT(*) THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        label,
        RANK() OVER (PARTITION BY slice ORDER BY score) AS low_rank,
        RANK() OVER (PARTITION BY slice ORDER BY score DESC) AS high_rank
    FROM predictions
) AS ranked
GROUP BY slice
