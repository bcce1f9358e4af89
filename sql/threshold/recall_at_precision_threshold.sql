/*
summary: highest threshold with the largest recall among those that reach a precision
formula: argmax of recall(t) over t with precision(t) >= precision
direction: none
range: -inf .. inf
params:
  precision: float in [0, 1] = 0.8
reference: sklearn.metrics.precision_recall_curve
weights: frequency
since: 0.1.0
*/
SELECT
    cutoffs.slice,
    -- Sums of real weights may differ in the last digit where they should be equal.
    MAX(CASE
            WHEN CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.tp + cutoffs.fp, 0) >= $precision
                AND CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.total_positives, 0)
                    >= optimum.best * (1e0 - 1e-15)
            THEN CAST(cutoffs.score_low AS DOUBLE)
        END) AS value,
    -- In a bin the best threshold is where all its positives come first, at best.
    MIN(CASE
            WHEN CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.tp + cutoffs.fp_at_best, 0)
                    >= $precision
                AND CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.total_positives, 0)
                    >= COALESCE(optimum.best, 0) * (1e0 - 1e-15)
            THEN CAST(cutoffs.score_low AS DOUBLE)
        END) AS low,
    MAX(CASE
            WHEN CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.tp + cutoffs.fp_at_best, 0)
                    >= $precision
                AND CAST(cutoffs.tp AS DOUBLE) / NULLIF(cutoffs.total_positives, 0)
                    >= COALESCE(optimum.best, 0) * (1e0 - 1e-15)
            THEN CAST(cutoffs.score_high AS DOUBLE)
        END) AS high,
    CASE
        WHEN MAX(cutoffs.total_positives) = 0 THEN 'no positive labels'
        WHEN MAX(optimum.best) IS NULL THEN 'no threshold reaches the precision'
    END AS note
FROM cutoffs
JOIN (
    SELECT
        slice,
        value AS best
    FROM recall_at_precision
) AS optimum USING (slice)
GROUP BY cutoffs.slice
