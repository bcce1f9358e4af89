/*
summary: >-
  each unit's step of the curve: tp and fp at its score and at the next higher score; further units
  of the same score add no step
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
    -- The totals are joined afterwards: every column that a window function carries through its
    -- sort costs time.
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
