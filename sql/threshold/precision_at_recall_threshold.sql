/*
summary: highest threshold with the largest precision among those that reach a recall
formula: argmax of precision(t) over t with recall(t) >= recall
direction: none
range: -inf .. inf
params:
  recall: float in [0, 1] = 0.8
reference: sklearn.metrics.precision_recall_curve
weights: frequency
since: 0.1.0
*/
SELECT
    cutoffs.slice,
    -- Sums of real weights may differ in the last digit where they should be equal.
    MAX(CASE
            WHEN cutoffs.tp >= $recall * cutoffs.total_positives * (1e0 - 1e-12)
                AND CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.tp + cutoffs.fp, 0)
                    >= optimum.best * (1e0 - 1e-15)
            THEN CAST(cutoffs.score_low AS DOUBLE)
        END) AS value,
    -- In a bin the best threshold is where all its positives come first, at best.
    MIN(CASE
            WHEN cutoffs.tp >= $recall * cutoffs.total_positives * (1e0 - 1e-12)
                AND CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.tp + cutoffs.fp_at_best, 0)
                    >= optimum.best * (1e0 - 1e-15)
            THEN CAST(cutoffs.score_low AS DOUBLE)
        END) AS low,
    MAX(CASE
            WHEN cutoffs.tp >= $recall * cutoffs.total_positives * (1e0 - 1e-12)
                AND CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.tp + cutoffs.fp_at_best, 0)
                    >= optimum.best * (1e0 - 1e-15)
            THEN CAST(cutoffs.score_high AS DOUBLE)
        END) AS high,
    CASE
        WHEN MAX(cutoffs.total_positives) = 0 THEN 'no positive labels'
    END AS note
FROM cutoffs
JOIN (
    SELECT
        slice,
        value AS best
    FROM precision_at_recall
) AS optimum USING (slice)
GROUP BY cutoffs.slice
