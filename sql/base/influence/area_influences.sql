/*
summary: >-
  segments of segment_influences with the influence of one more row on all segments up to this one:
  how much a positive at its score raises the area, and the sum, over all negatives, of the squares
  of the amount that one lowers it by, times its squared weight
*/
SELECT
    slice,
    tp,
    fp,
    tp_above,
    fp_above,
    is_spread,
    total_positives,
    positives,
    positive_squares,
    straight_precision,
    straight_miss,
    straight_raising - straight_raises_start AS straight_raised,
    -- A negative lowers both ends of the segments below it, and the end of the segment at its
    -- score. The square of a sum is a sum over pairs of ends. A pair counts for the `fp` negatives
    -- above its higher end, by their squared weights.
    fp_squares_above * straight_lowers_start * (2e0 * straight_lowering - straight_lowers_start)
        + fp_squares * straight_lowers_end
            * (2e0 * (straight_lowering - straight_lowers_start) - straight_lowers_end)
        AS straight_squares,
    curved_precision,
    curved_miss,
    curved_raising - curved_raises_start AS curved_raised,
    fp_squares_above * curved_lowers_start * (2e0 * curved_lowering - curved_lowers_start)
        + fp_squares * curved_lowers_end
            * (2e0 * (curved_lowering - curved_lowers_start) - curved_lowers_end)
        AS curved_squares
FROM (
    SELECT
        slice,
        tp,
        fp,
        tp_above,
        fp_above,
        is_spread,
        total_positives,
        positives,
        positive_squares,
        fp_squares,
        fp_squares_above,
        straight_precision,
        straight_miss,
        straight_raises_start,
        straight_lowers_start,
        straight_lowers_end,
        curved_precision,
        curved_miss,
        curved_raises_start,
        curved_lowers_start,
        curved_lowers_end,
        SUM(straight_raises_start + straight_raises_end) OVER (
            PARTITION BY slice ORDER BY tp DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS straight_raising,
        SUM(straight_lowers_start + straight_lowers_end) OVER (
            PARTITION BY slice ORDER BY tp DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS straight_lowering,
        SUM(curved_raises_start + curved_raises_end) OVER (
            PARTITION BY slice ORDER BY tp DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS curved_raising,
        SUM(curved_lowers_start + curved_lowers_end) OVER (
            PARTITION BY slice ORDER BY tp DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS curved_lowering
    FROM segment_influences
) AS sums
