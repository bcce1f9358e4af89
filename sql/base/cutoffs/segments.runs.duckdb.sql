/*
summary: >-
  segments between the units of cutoffs.runs; a run of negatives has a position on the curve but no
  score
when: unweighted rows
*/
SELECT
    slice,
    CAST(score_low AS DOUBLE) AS threshold,
    tp,
    fp,
    -- If a run and a positive end at the same point, the positive makes the step, because it has a
    -- score.
    COALESCE(LAG(tp) OVER (PARTITION BY slice ORDER BY tp, fp, negatives), 0) AS tp_above,
    COALESCE(LAG(fp) OVER (PARTITION BY slice ORDER BY tp, fp, negatives), 0) AS fp_above,
    0 AS is_spread,
    tp AS tp_squares,
    fp AS fp_squares,
    COALESCE(LAG(tp) OVER (PARTITION BY slice ORDER BY tp, fp, negatives), 0) AS tp_squares_above,
    COALESCE(LAG(fp) OVER (PARTITION BY slice ORDER BY tp, fp, negatives), 0) AS fp_squares_above,
    total_positives,
    total_negatives
FROM cutoffs
