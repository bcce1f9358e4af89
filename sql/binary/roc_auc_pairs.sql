/*
summary: ROC AUC by comparing every positive with every negative, ties counting one half
formula: sum over pairs of w+ w- ([s+ > s-] + [s+ = s-] / 2), divided by the sum of w+ w-
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
same_as: roc_auc
task: two classes
weights: frequency
cost: quadratic
since: 0.1.0
*/
SELECT
    one.slice,
    CAST(SUM(
        CASE
            WHEN one.label = 1 AND other.label = 0 AND one.score > other.score
                THEN 1e0 * one.weight * other.weight
            WHEN one.label = 1 AND other.label = 0 AND one.score = other.score
                THEN 5e-1 * one.weight * other.weight
            ELSE 0e0
        END
    ) AS DOUBLE)
        / NULLIF(SUM(
            -- As DOUBLE: the product of two counts overflows BIGINT.
            CASE
                WHEN one.label = 1 AND other.label = 0 THEN 1e0 * one.weight * other.weight
                ELSE 0e0
            END
        ), 0) AS value,
    CASE
        WHEN COALESCE(MAX(one.label * one.weight), 0) = 0 THEN 'no positive labels'
        WHEN MAX((1 - one.label) * one.weight) = 0 THEN 'no negative labels'
    END AS note
FROM predictions AS one
JOIN predictions AS other USING (slice)
GROUP BY one.slice
