/*
summary: >-
  area_influences in two levels: sums over the lower buckets of a thousandth of the positives each,
  and windows within a bucket, so that no window holds all rows
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
        units.slice,
        units.tp,
        units.fp,
        units.tp_above,
        units.fp_above,
        units.is_spread,
        units.total_positives,
        units.positives,
        units.positive_squares,
        units.fp_squares,
        units.fp_squares_above,
        units.straight_precision,
        units.straight_miss,
        units.straight_raises_start,
        units.straight_lowers_start,
        units.straight_lowers_end,
        units.curved_precision,
        units.curved_miss,
        units.curved_raises_start,
        units.curved_lowers_start,
        units.curved_lowers_end,
        below.straight_raised_below
            + SUM(units.straight_raises_start + units.straight_raises_end) OVER (
                PARTITION BY units.slice, units.level ORDER BY units.tp DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS straight_raising,
        below.straight_lowered_below
            + SUM(units.straight_lowers_start + units.straight_lowers_end) OVER (
                PARTITION BY units.slice, units.level ORDER BY units.tp DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS straight_lowering,
        below.curved_raised_below
            + SUM(units.curved_raises_start + units.curved_raises_end) OVER (
                PARTITION BY units.slice, units.level ORDER BY units.tp DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS curved_raising,
        below.curved_lowered_below
            + SUM(units.curved_lowers_start + units.curved_lowers_end) OVER (
                PARTITION BY units.slice, units.level ORDER BY units.tp DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS curved_lowering
    FROM segment_influences AS units
    JOIN (
        SELECT
            slice,
            level,
            SUM(straight_raises) OVER (
                PARTITION BY slice ORDER BY level DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) - straight_raises AS straight_raised_below,
            SUM(straight_lowers) OVER (
                PARTITION BY slice ORDER BY level DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) - straight_lowers AS straight_lowered_below,
            SUM(curved_raises) OVER (
                PARTITION BY slice ORDER BY level DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) - curved_raises AS curved_raised_below,
            SUM(curved_lowers) OVER (
                PARTITION BY slice ORDER BY level DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) - curved_lowers AS curved_lowered_below
        FROM (
            SELECT
                slice,
                level,
                SUM(straight_raises_start + straight_raises_end) AS straight_raises,
                SUM(straight_lowers_start + straight_lowers_end) AS straight_lowers,
                SUM(curved_raises_start + curved_raises_end) AS curved_raises,
                SUM(curved_lowers_start + curved_lowers_end) AS curved_lowers
            FROM segment_influences
            GROUP BY
                slice,
                level
        ) AS sums
    ) AS below USING (slice, level)
) AS totals_below
