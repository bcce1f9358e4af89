/*
summary: >-
  units with positives, and how much one more row changes the precisions of the units up to this one,
  summed over their positives: a positive at this score raises them, a negative lowers them
*/
SELECT
    slice,
    score_low,
    score_high,
    positives,
    positive_squares,
    tp,
    fp,
    fp_at_best,
    fp_squares,
    -- Without a frame, a window includes the rows of the same score. `lowered` is summed over pairs
    -- of units, each pair once, so that it ends at the unit itself.
    SUM(positives * (CAST(fp AS DOUBLE) / POWER(CAST(tp + fp AS DOUBLE), 2))) OVER (
        PARTITION BY slice ORDER BY score_low
    ) AS raised,
    SUM(positives * (CAST(tp AS DOUBLE) / POWER(CAST(tp + fp AS DOUBLE), 2))) OVER (
        PARTITION BY slice ORDER BY score_low
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS lowered
FROM cutoffs
WHERE positives > 0
