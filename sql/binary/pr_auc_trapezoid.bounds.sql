/*
summary: bounds of the area, over all orders of the scores within a bin
*/
SELECT
    slice,
    -- Worst order within a bin: all negatives first, then the positives, tied.
    5e-1 * SUM(
        (tp - tp_above) * (
            CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0)
            + CASE
                WHEN is_spread = 0 OR fp = fp_above
                THEN COALESCE(CAST(tp_above AS DOUBLE) / NULLIF(tp_above + fp_above, 0), 1e0)
                ELSE CAST(tp_above AS DOUBLE) / NULLIF(tp_above + fp, 0)
            END
        )
    ) / NULLIF(MAX(total_positives), 0) AS low,
    -- Best order within a bin: all positives first, without ties. The sum is at most the integral
    -- of tp / (tp + fp_above), which is at most its midpoint value. The midpoint value loses no
    -- digits.
    CAST(SUM(
        CASE
            WHEN is_spread = 0
            THEN 5e-1 * (tp - tp_above) * (
                CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0)
                + COALESCE(CAST(tp_above AS DOUBLE) / NULLIF(tp_above + fp_above, 0), 1e0)
            )
            WHEN fp_above = 0 THEN tp - tp_above
            WHEN tp - tp_above < 1e-3 * (tp_above + fp_above)
            THEN (tp - tp_above) * (
                CAST(tp + tp_above AS DOUBLE) / NULLIF(tp + tp_above + 2 * fp_above, 0)
            )
            ELSE tp - tp_above
                - fp_above * LN(CAST(tp + fp_above AS DOUBLE) / NULLIF(tp_above + fp_above, 0))
        END
    ) AS DOUBLE) / NULLIF(MAX(total_positives), 0) AS high
FROM segments
GROUP BY slice
