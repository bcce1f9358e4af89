/*
summary: ROC AUC from the rank sum of the positives, with the mean rank for ties
formula: (R+ - P (P + 1) / 2) / (P N)
direction: higher
range: 0 .. 1
reference: scipy.stats.mannwhitneyu
same_as: roc_auc
task: two classes
weights: frequency
bound: pairs
units: runs
since: 0.1.0
*/
SELECT
    slice,
    -- Ranks count from the lowest score up; a tie's mean rank is the middle of its ranks. The rank
    -- among all rows minus the rank among the positives is the number of negatives below.
    -- Differences are taken before the sum, because two sums of ranks would cancel where one class
    -- weighs little.
    CAST(SUM(
        (tp - tp_above) * (CAST(total_negatives - fp AS DOUBLE) + 5e-1 * (fp - fp_above))
    ) AS DOUBLE) / NULLIF(CAST(MAX(total_positives) AS DOUBLE) * MAX(total_negatives), 0) AS value,
    CASE
        WHEN COALESCE(MAX(total_positives), 0) = 0 THEN 'no positive labels'
        WHEN MAX(total_negatives) = 0 THEN 'no negative labels'
    END AS note
FROM segments
GROUP BY slice
