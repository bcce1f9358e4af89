/*
summary: probability that a positive scores above a negative, ties counting one half
formula: "(#(s+ > s-) + #(s+ = s-) / 2) / (P N)"
direction: higher
range: 0 .. 1
test: delong
reference: sklearn.metrics.roc_auc_score
aliases: [auc, auroc, c_statistic, roc_auc_score]
task: two classes
weights: frequency
bound: pairs
units: runs
since: 0.1.0
*/
SELECT
    slice,
    -- With real-valued weights the sums are rounded; without the bounds the value could be slightly
    -- above 1.
    5e-1 + LEAST(
        GREATEST(
            CAST(SUM(negatives * tp - positives * fp) AS DOUBLE),
            -1e0 * SUM(positives) * SUM(negatives)
        ),
        1e0 * SUM(positives) * SUM(negatives)
    ) / NULLIF(2e0 * SUM(positives) * SUM(negatives), 0) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM cutoffs
GROUP BY slice
