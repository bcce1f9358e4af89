/*
summary: >-
  each unit's step of the curve: tp and fp at its score, and at the score above; units that share
  a score add no further step
*/
SELECT
    steps.slice,
    CAST(steps.score AS DOUBLE) AS threshold,
    steps.tp,
    steps.fp,
    steps.tp_above,
    steps.fp_above,
    steps.is_spread,
    totals.total_positives,
    totals.total_negatives
FROM (
    -- The totals join afterwards: what a window carries through its sort is its time.
    SELECT
        slice,
        score_low AS score,
        tp,
        fp,
        CASE WHEN score_low < score_high THEN 1 ELSE 0 END AS is_spread,
        COALESCE(LAG(tp) OVER (PARTITION BY slice ORDER BY score_low DESC), 0) AS tp_above,
        COALESCE(LAG(fp) OVER (PARTITION BY slice ORDER BY score_low DESC), 0) AS fp_above
    FROM cutoffs
) AS steps
JOIN totals USING (slice)
