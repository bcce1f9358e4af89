/*
summary: bounds of the average precision, as scores within a bin have any order
*/
SELECT
    slice,
    -- Worst order within a bin: all negatives first, and positives that do not tie. The sum of tp /
    -- (tp + fp), with fp at the end of the bin, is at least its integral, and this at least a
    -- trapezoid, which loses no digits where the ratio is close to 1.
    CAST(SUM(
        CASE
            WHEN score_low = score_high THEN positives * (CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0))
            WHEN fp = 0 THEN positives
            WHEN positives < 1e-3 * (tp + fp)
            THEN 5e-1 * positives * (
                CAST(tp - positives AS DOUBLE) / NULLIF(tp - positives + fp, 0)
                + CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0)
            )
            ELSE positives
                - fp * LN(CAST(tp + fp AS DOUBLE) / NULLIF(GREATEST(tp - positives, 0) + fp, 0))
        END
    ) AS DOUBLE) / NULLIF(SUM(positives), 0) AS low,
    -- Best order within a bin: all positives first, with one score.
    SUM(positives * (CAST(tp AS DOUBLE) / NULLIF(tp + fp_at_best, 0)))
        / NULLIF(SUM(positives), 0) AS high
FROM cutoffs
GROUP BY slice
