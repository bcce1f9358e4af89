/*
summary: ROC AUC by comparing every positive with every negative, ties counting one half
formula: sum over pairs of w+ w- ([s+ > s-] + [s+ = s-] / 2), divided by the sum of w+ w-
direction: higher
range: 0 .. 1
params:
  max_rows: int in [1, inf) = 100000
reference: sklearn.metrics.roc_auc_score
same_as: roc_auc
task: two classes
weights: frequency
cost: n^2
since: 0.1.0
*/
-- A slice with more rows than max_rows has no value: 100,000 rows are 1e10 pairs.
SELECT
    slice,
    CAST(SUM(won) AS DOUBLE) / NULLIF(SUM(pairs), 0) AS value,
    CASE
        WHEN SUM(n) > $max_rows THEN 'more rows than max_rows= (roc_auc has the same value)'
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        0e0 AS won,
        0e0 AS pairs,
        COUNT(*) AS n,
        SUM(label * weight) AS positives,
        SUM((1 - label) * weight) AS negatives
    FROM predictions
    GROUP BY slice
    UNION ALL
    SELECT
        one.slice,
        -- As DOUBLE: the product of two counts overflows BIGINT.
        SUM(
            CASE
                WHEN one.score > other.score THEN 1e0 * one.weight * other.weight
                WHEN one.score = other.score THEN 5e-1 * one.weight * other.weight
                ELSE 0e0
            END
        ) AS won,
        SUM(1e0 * one.weight * other.weight) AS pairs,
        0 AS n,
        0 AS positives,
        0 AS negatives
    FROM (
        SELECT
            predictions.slice,
            predictions.score,
            predictions.weight
        FROM predictions
        JOIN (
            SELECT
                slice,
                COUNT(*) AS n
            FROM predictions
            GROUP BY slice
        ) AS counted USING (slice)
        WHERE predictions.label = 1 AND counted.n <= $max_rows
    ) AS one
    JOIN predictions AS other USING (slice)
    WHERE other.label = 0
    GROUP BY one.slice
) AS parts
GROUP BY slice
