/*
summary: >-
  highest threshold with the largest accuracy; infinite where predicting nothing positive is
  best
formula: argmax over t of accuracy(t)
direction: none
range: -inf .. inf
reference: sklearn.metrics.metric_at_thresholds # with accuracy_score
weights: frequency
since: 0.1.0
*/
SELECT
    cutoffs.slice,
    -- Sums of real weights may differ in the last digit where they should be equal.
    CASE
        WHEN MAX(CAST(cutoffs.total_negatives AS DOUBLE)
            / NULLIF(cutoffs.total_positives + cutoffs.total_negatives, 0))
            >= MAX(optimum.best) * (1e0 - 1e-15)
            THEN CAST('Infinity' AS DOUBLE)
        ELSE MAX(CASE
            WHEN CAST(cutoffs.tp + cutoffs.total_negatives - cutoffs.fp AS DOUBLE)
                / NULLIF(cutoffs.total_positives + cutoffs.total_negatives, 0)
                >= optimum.best * (1e0 - 1e-15)
            THEN CAST(cutoffs.score_low AS DOUBLE)
        END)
    END AS value,
    -- In a bin the best threshold is where all its positives come first, at best.
    CASE
        WHEN MAX(CAST(cutoffs.total_negatives AS DOUBLE)
            / NULLIF(cutoffs.total_positives + cutoffs.total_negatives, 0))
            >= MAX(CAST(cutoffs.tp + cutoffs.total_negatives - cutoffs.fp_at_best AS DOUBLE)
                / NULLIF(cutoffs.total_positives + cutoffs.total_negatives, 0))
            THEN CAST('Infinity' AS DOUBLE)
        ELSE MIN(CASE
            WHEN CAST(cutoffs.tp + cutoffs.total_negatives - cutoffs.fp_at_best AS DOUBLE)
                / NULLIF(cutoffs.total_positives + cutoffs.total_negatives, 0)
                >= optimum.best * (1e0 - 1e-15)
            THEN CAST(cutoffs.score_low AS DOUBLE)
        END)
    END AS low,
    CASE
        WHEN MAX(CAST(cutoffs.total_negatives AS DOUBLE)
            / NULLIF(cutoffs.total_positives + cutoffs.total_negatives, 0))
            >= MAX(optimum.best) * (1e0 - 1e-15)
            THEN CAST('Infinity' AS DOUBLE)
        ELSE MAX(CASE
            WHEN CAST(cutoffs.tp + cutoffs.total_negatives - cutoffs.fp_at_best AS DOUBLE)
                / NULLIF(cutoffs.total_positives + cutoffs.total_negatives, 0)
                >= optimum.best * (1e0 - 1e-15)
            THEN CAST(cutoffs.score_high AS DOUBLE)
        END)
    END AS high,
    CASE
        WHEN MAX(cutoffs.total_positives + cutoffs.total_negatives) = 0 THEN 'total weight is 0'
    END AS note
FROM cutoffs
JOIN (
    SELECT
        slice,
        value AS best
    FROM best_accuracy
) AS optimum USING (slice)
GROUP BY cutoffs.slice
