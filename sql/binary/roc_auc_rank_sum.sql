/*
summary: ROC AUC from the rank sum of the positives, each tie taking its mean rank
formula: (R+ - P (P + 1) / 2) / (P N)
direction: higher
range: 0 .. 1
reference: scipy.stats.mannwhitneyu
weights: none
since: 0.1.0
*/
SELECT
    slice,
    (SUM(positives * mean_rank) - 5e-1 * SUM(positives) * (SUM(positives) + 1))
        / NULLIF(CAST(SUM(positives) AS DOUBLE) * SUM(negatives), 0) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        score,
        AVG(CAST(position AS DOUBLE)) AS mean_rank,
        SUM(label) AS positives,
        SUM(1 - label) AS negatives
    FROM (
        SELECT
            slice,
            score,
            label,
            ROW_NUMBER() OVER (PARTITION BY slice ORDER BY score) AS position
        FROM predictions
    ) AS ranked
    GROUP BY
        slice,
        score
) AS ties
GROUP BY slice
