/*
summary: highest threshold with the largest F-beta
formula: argmax over t of F-beta(t)
direction: none
range: -inf .. inf
params:
  beta: float in (0, 1e50] = 1.0 # its square must not overflow
reference: sklearn.metrics.metric_at_thresholds # with fbeta_score
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
        CAST((1e0 + $beta * $beta) * cutoffs.tp AS DOUBLE)
            / NULLIF($beta * $beta * cutoffs.total_positives + cutoffs.tp + cutoffs.fp, 0) AS reached,
        CAST((1e0 + $beta * $beta) * cutoffs.tp AS DOUBLE)
            / NULLIF($beta * $beta * cutoffs.total_positives + cutoffs.tp + cutoffs.fp_at_best, 0) AS reachable,
        cutoffs.total_positives,
        optimum.best
    FROM cutoffs
    JOIN (
        SELECT
            slice,
            value AS best
        FROM best_f_beta
    ) AS optimum USING (slice)
) AS measured
GROUP BY slice
