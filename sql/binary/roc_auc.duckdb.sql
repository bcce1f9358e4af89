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
    -- A tie of k + 1 rows has k rows whose place is not their rank. Its mean rank is k / 2 above
    -- its rank, for each of its positives: those among the k, and the row that comes first.
    (SUM(rank_sum)
        + 5e-1 * SUM(CASE WHEN tie IS NOT NULL THEN (positives + first_label) * n ELSE 0 END)
        - 5e-1 * SUM(positives) * (SUM(positives) + 1))
        / NULLIF(CAST(SUM(positives) AS DOUBLE) * SUM(n - positives), 0) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(n - positives) = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        tie,
        SUM(CASE WHEN label = 1 THEN low_rank ELSE 0 END) AS rank_sum,
        SUM(label) AS positives,
        COUNT(*) AS n,
        MAX(first_of_tie) AS first_label
    FROM (
        SELECT
            slice,
            label,
            low_rank,
            CASE WHEN place <> low_rank THEN low_rank END AS tie,
            CASE WHEN place = low_rank + 1 THEN label_before END AS first_of_tie
        FROM (
            SELECT
                slice,
                label,
                RANK() OVER (PARTITION BY slice ORDER BY score) AS low_rank,
                ROW_NUMBER() OVER (PARTITION BY slice ORDER BY score) AS place,
                LAG(label) OVER (PARTITION BY slice ORDER BY score) AS label_before
            FROM predictions
        ) AS ranked
    ) AS placed
    GROUP BY
        slice,
        tie
) AS ties
GROUP BY slice
