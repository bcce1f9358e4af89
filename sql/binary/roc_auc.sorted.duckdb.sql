/*
summary: ROC AUC from one sort of the rows of all slices
formula: (R+ - P (P + 1) / 2) / (P N), R+ the sum of the positives' mean ranks
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
task: two classes
weights: none
since: 0.2.0
when: unweighted rows
*/
SELECT
    slice,
    CAST(SUM(won) AS DOUBLE) / NULLIF(2e0 * SUM(positives) * SUM(negatives), 0) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        slice_number * width AS slice_start
    FROM slices
    CROSS JOIN unit_scale
) AS starts
JOIN ordered_pairs USING (slice_start)
GROUP BY slice
