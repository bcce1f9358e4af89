/*
summary: >-
  highest threshold with the largest accuracy; infinite if predicting nothing positive is best
formula: argmax over t of accuracy(t)
direction: none
range: -inf .. inf
reference: sklearn.metrics.metric_at_thresholds # with accuracy_score
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    -- Sums of real-valued weights that should be equal may differ in the last digit.
    CASE
        WHEN MAX(of_nothing) >= MAX(best) * (1e0 - 1e-15) THEN CAST('Infinity' AS DOUBLE)
        ELSE MAX(CASE WHEN reached >= best * (1e0 - 1e-15) THEN lowest END)
    END AS value,
    -- Bounds for bins: a bin reaches the most if all its positives come first.
    CASE
        WHEN MAX(of_nothing) >= MAX(reachable) THEN CAST('Infinity' AS DOUBLE)
        ELSE MIN(CASE WHEN reachable >= best * (1e0 - 1e-15) THEN lowest END)
    END AS low,
    CASE
        WHEN MAX(of_nothing) >= MAX(best) * (1e0 - 1e-15) THEN CAST('Infinity' AS DOUBLE)
        ELSE MAX(CASE WHEN reachable >= best * (1e0 - 1e-15) THEN highest END)
    END AS high,
    CASE WHEN MAX(total_positives + total_negatives) = 0 THEN 'total weight is 0' END AS note
FROM (
    SELECT
        cutoffs.slice,
        CAST(cutoffs.score_low AS DOUBLE) AS lowest,
        CAST(cutoffs.score_high AS DOUBLE) AS highest,
        CAST(cutoffs.tp + cutoffs.total_negatives - cutoffs.fp AS DOUBLE)
            / NULLIF(cutoffs.total_positives + cutoffs.total_negatives, 0) AS reached,
        CAST(cutoffs.tp + cutoffs.total_negatives - cutoffs.fp_at_best AS DOUBLE)
            / NULLIF(cutoffs.total_positives + cutoffs.total_negatives, 0) AS reachable,
        CAST(cutoffs.total_negatives AS DOUBLE)
            / NULLIF(cutoffs.total_positives + cutoffs.total_negatives, 0) AS of_nothing,
        cutoffs.total_positives,
        cutoffs.total_negatives,
        optimum.best
    FROM cutoffs
    JOIN (
        SELECT
            slice,
            value AS best
        FROM best_accuracy
    ) AS optimum USING (slice)
) AS measured
GROUP BY slice
