/*
summary: bounds of the average precision, over all orders of the scores within a bin
*/
SELECT
    slice,
    -- Worst order within a bin: all negatives first, then the positives without ties. The sum of tp
    -- / (tp + fp), with fp at the end of the bin, is at least its integral, which is at least a
    -- trapezoid. The trapezoid loses no digits where the ratio is close to 1.
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
    -- Best order within a bin: all positives first, tied.
    SUM(positives * (CAST(tp AS DOUBLE) / NULLIF(tp + fp_at_best, 0)))
        / NULLIF(SUM(positives), 0) AS high
FROM cutoffs
GROUP BY slice
