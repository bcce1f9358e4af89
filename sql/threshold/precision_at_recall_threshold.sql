/*
summary: highest threshold with the largest precision among those with at least a given recall
formula: argmax of precision(t) over t with recall(t) >= recall
direction: none
range: -inf .. inf
params:
  recall: float in [0, 1] = 0.8
reference: sklearn.metrics.precision_recall_curve # argmax of precision where recall is reached
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    -- Sums of real-valued weights that should be equal may differ in the last digit.
    MAX(CASE WHEN reached >= best * (1e0 - 1e-15) THEN lowest END) AS value,
    -- Bounds for bins: a bin reaches the most if all its positives come first.
    MIN(CASE WHEN reachable >= best * (1e0 - 1e-15) THEN lowest END) AS low,
    MAX(CASE WHEN reachable >= best * (1e0 - 1e-15) THEN highest END) AS high,
    CASE WHEN MAX(total_positives) = 0 THEN 'no positive labels' END AS note
FROM (
    SELECT
        cutoffs.slice,
        CAST(cutoffs.score_low AS DOUBLE) AS lowest,
        CAST(cutoffs.score_high AS DOUBLE) AS highest,
        CASE
            -- Compare with slightly less, because sums of real-valued weights over the same rows
            -- may differ by rounding.
            WHEN cutoffs.tp >= $recall * cutoffs.total_positives * (1e0 - 1e-12)
            THEN CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.tp + cutoffs.fp, 0)
        END AS reached,
        CASE
            WHEN cutoffs.tp >= $recall * cutoffs.total_positives * (1e0 - 1e-12)
            THEN CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.tp + cutoffs.fp_at_best, 0)
        END AS reachable,
        cutoffs.total_positives,
        optimum.best
    FROM cutoffs
    JOIN (
        SELECT
            slice,
            value AS best
        FROM precision_at_recall
    ) AS optimum USING (slice)
) AS measured
GROUP BY slice
