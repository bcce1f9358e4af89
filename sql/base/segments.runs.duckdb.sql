/*
summary: >-
  segments between the units that runs of negatives make; a run has no score, but a place along the
  curve
when: unweighted rows
*/
SELECT
    slice,
    CAST(score_low AS DOUBLE) AS threshold,
    tp,
    fp,
    -- Of a run and a positive at one place the positive makes the step, as it has the score.
    COALESCE(LAG(tp) OVER (PARTITION BY slice ORDER BY tp, fp, negatives), 0) AS tp_above,
    COALESCE(LAG(fp) OVER (PARTITION BY slice ORDER BY tp, fp, negatives), 0) AS fp_above,
    0 AS is_spread,
    total_positives,
    total_negatives
FROM cutoffs
