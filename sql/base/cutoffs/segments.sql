/*
summary: >-
  each unit's step of the curve: tp and fp at its score and at the next higher score; further units
  of the same score add no step
*/
SELECT
    steps.slice,
    CAST(steps.score AS DOUBLE) AS threshold,
    -- In another order, real-valued weights add up to slightly more or less than their total. The
    -- last step is set to the total, so that curves end at 1.
    CASE
        WHEN steps.summed_tp >= totals.total_positives * (1e0 - 1e-12)
        THEN totals.total_positives
        ELSE steps.summed_tp
    END AS tp,
    CASE
        WHEN steps.summed_fp >= totals.total_negatives * (1e0 - 1e-12)
        THEN totals.total_negatives
        ELSE steps.summed_fp
    END AS fp,
    CASE
        WHEN steps.summed_tp_above >= totals.total_positives * (1e0 - 1e-12)
        THEN totals.total_positives
        ELSE steps.summed_tp_above
    END AS tp_above,
    CASE
        WHEN steps.summed_fp_above >= totals.total_negatives * (1e0 - 1e-12)
        THEN totals.total_negatives
        ELSE steps.summed_fp_above
    END AS fp_above,
    steps.is_spread,
    steps.tp_squares,
    steps.fp_squares,
    steps.tp_squares_above,
    steps.fp_squares_above,
    totals.total_positives,
    totals.total_negatives
FROM (
    -- The totals are joined afterwards, because every column that a window function carries through
    -- its sort costs time.
    SELECT
        slice,
        score_low AS score,
        tp AS summed_tp,
        fp AS summed_fp,
        CASE WHEN score_low < score_high THEN 1 ELSE 0 END AS is_spread,
        COALESCE(LAG(tp) OVER (PARTITION BY slice ORDER BY score_low DESC), 0) AS summed_tp_above,
        COALESCE(LAG(fp) OVER (PARTITION BY slice ORDER BY score_low DESC), 0) AS summed_fp_above,
        tp_squares,
        fp_squares,
        COALESCE(LAG(tp_squares) OVER (PARTITION BY slice ORDER BY score_low DESC), 0)
            AS tp_squares_above,
        COALESCE(LAG(fp_squares) OVER (PARTITION BY slice ORDER BY score_low DESC), 0)
            AS fp_squares_above
    FROM cutoffs
) AS steps
JOIN totals USING (slice)
