/*
summary: highest threshold with the largest recall among those with at least a given precision
formula: argmax of recall(t) over t with precision(t) >= precision
direction: none
range: -inf .. inf
params:
  precision: float in [0, 1] = 0.8
reference: sklearn.metrics.precision_recall_curve # argmax of recall where precision is reached
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
    MIN(CASE WHEN reachable >= COALESCE(best, 0) * (1e0 - 1e-15) THEN lowest END) AS low,
    MAX(CASE WHEN reachable >= COALESCE(best, 0) * (1e0 - 1e-15) THEN highest END) AS high,
    CASE
        WHEN MAX(total_positives) = 0 THEN 'no positive labels'
        WHEN MAX(best) IS NULL AND MAX(reachable) IS NULL
            THEN 'no threshold reaches the precision'
        WHEN MAX(best) IS NULL THEN 'bins leave open whether it is defined'
    END AS note
FROM (
    SELECT
        cutoffs.slice,
        CAST(cutoffs.score_low AS DOUBLE) AS lowest,
        CAST(cutoffs.score_high AS DOUBLE) AS highest,
        CASE
            -- Compare with slightly less, as in recall_at_precision.
            WHEN cutoffs.tp + cutoffs.fp > 0
                AND cutoffs.tp >= $precision * (cutoffs.tp + cutoffs.fp) * (1e0 - 1e-12)
            THEN CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.total_positives, 0)
        END AS reached,
        CASE
            WHEN cutoffs.tp + cutoffs.fp_at_best > 0
                AND cutoffs.tp >= $precision * (cutoffs.tp + cutoffs.fp_at_best) * (1e0 - 1e-12)
            THEN CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.total_positives, 0)
        END AS reachable,
        cutoffs.total_positives,
        optimum.best
    FROM cutoffs
    JOIN (
        SELECT
            slice,
            value AS best
        FROM recall_at_precision
    ) AS optimum USING (slice)
) AS measured
GROUP BY slice
