/*
summary: highest threshold with the largest Youden index; infinite if the index is never above 0
formula: argmax over t of tpr(t) - fpr(t)
direction: none
range: -inf .. inf
reference: sklearn.metrics.roc_curve # argmax(tpr - fpr)
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    -- Sums of real-valued weights that should be equal may differ in the last digit.
    CASE
        WHEN MAX(best) <= 0 THEN CAST('Infinity' AS DOUBLE)
        ELSE MAX(CASE WHEN reached >= best * (1e0 - 1e-15) THEN lowest END)
    END AS value,
    -- Bounds for bins: a bin reaches the most if all its positives come first.
    CASE
        WHEN MAX(reachable) <= 0 THEN CAST('Infinity' AS DOUBLE)
        ELSE MIN(CASE WHEN reachable >= best * (1e0 - 1e-15) THEN lowest END)
    END AS low,
    CASE
        WHEN MAX(best) <= 0 THEN CAST('Infinity' AS DOUBLE)
        ELSE MAX(CASE WHEN reachable >= best * (1e0 - 1e-15) THEN highest END)
    END AS high,
    CASE
        WHEN MAX(total_positives) = 0 THEN 'no positive labels'
        WHEN MAX(total_negatives) = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        cutoffs.slice,
        CAST(cutoffs.score_low AS DOUBLE) AS lowest,
        CAST(cutoffs.score_high AS DOUBLE) AS highest,
        (
            CAST(cutoffs.tp AS DOUBLE) * cutoffs.total_negatives
            - CAST(cutoffs.fp AS DOUBLE) * cutoffs.total_positives
        ) / NULLIF(CAST(cutoffs.total_positives AS DOUBLE) * cutoffs.total_negatives, 0) AS reached,
        (
            CAST(cutoffs.tp AS DOUBLE) * cutoffs.total_negatives
            - CAST(cutoffs.fp_at_best AS DOUBLE) * cutoffs.total_positives
        ) / NULLIF(CAST(cutoffs.total_positives AS DOUBLE) * cutoffs.total_negatives, 0) AS reachable,
        cutoffs.total_positives,
        cutoffs.total_negatives,
        optimum.best
    FROM cutoffs
    JOIN (
        SELECT
            slice,
            value AS best
        FROM best_youden_j
    ) AS optimum USING (slice)
) AS measured
GROUP BY slice
