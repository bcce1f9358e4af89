/*
summary: >-
  segments of the precision-recall curve that end with positives: their mean precision, and how much
  one more row above an end of the segment changes the segment's share of the area, by straight lines
  (straight_) and with false positives that grow linearly (curved_)
*/
-- A positive raises precisions by fp / (tp + fp)^2, a negative lowers them by tp / (tp + fp)^2. A
-- row at the score of the segment moves its end (`_end`), a row above it both ends, so `_start` is
-- the effect of the other end.
SELECT
    slice,
    tp,
    fp,
    tp_above,
    fp_above,
    is_spread,
    total_positives,
    tp - tp_above AS positives,
    GREATEST(tp_squares - tp_squares_above, 0) AS positive_squares,
    fp_squares,
    fp_squares_above,
    -- A thousandth of the positives; the bucketed twin of area_influences sums within these.
    CAST(FLOOR(tp * 1e3 / NULLIF(total_positives, 0)) AS INTEGER) AS level,
    5e-1 * (CAST(fp AS DOUBLE) / NULLIF(n, 0) + COALESCE(CAST(fp_above AS DOUBLE) / NULLIF(n_above, 0), 0e0))
        AS straight_miss,
    5e-1 * (CAST(tp AS DOUBLE) / NULLIF(n, 0) + COALESCE(CAST(tp_above AS DOUBLE) / NULLIF(n_above, 0), 1e0))
        AS straight_precision,
    5e-1 * (tp - tp_above) * (CAST(fp AS DOUBLE) / NULLIF(POWER(n, 2), 0)) AS straight_raises_end,
    5e-1 * (tp - tp_above) * COALESCE(CAST(fp_above AS DOUBLE) / NULLIF(POWER(n_above, 2), 0), 0e0)
        AS straight_raises_start,
    5e-1 * (tp - tp_above) * (CAST(tp AS DOUBLE) / NULLIF(POWER(n, 2), 0)) AS straight_lowers_end,
    5e-1 * (tp - tp_above) * COALESCE(CAST(tp_above AS DOUBLE) / NULLIF(POWER(n_above, 2), 0), 0e0)
        AS straight_lowers_start,
    -- With u from 0 to 1 along the segment these are the integrals of the precision, and of u and
    -- 1 - u times fp / (tp + fp)^2 or tp / (tp + fp)^2.
    (fp_middle * mean_inverse - fp_half * mean_share) * (1e0 / NULLIF(n_middle, 0)) AS curved_miss,
    (tp_middle * mean_inverse - tp_half * mean_share) * (1e0 / NULLIF(n_middle, 0)) AS curved_precision,
    (tp - tp_above) * (fp_middle * (flat + slope) + fp_half * (slope + bend))
        * (5e-1 / NULLIF(POWER(n_middle, 2), 0)) AS curved_raises_end,
    (tp - tp_above) * (fp_middle * (flat - slope) + fp_half * (slope - bend))
        * (5e-1 / NULLIF(POWER(n_middle, 2), 0)) AS curved_raises_start,
    (tp - tp_above) * (tp_middle * (flat + slope) + tp_half * (slope + bend))
        * (5e-1 / NULLIF(POWER(n_middle, 2), 0)) AS curved_lowers_end,
    (tp - tp_above) * (tp_middle * (flat - slope) + tp_half * (slope - bend))
        * (5e-1 / NULLIF(POWER(n_middle, 2), 0)) AS curved_lowers_start
FROM (
    SELECT
        slice,
        tp,
        fp,
        tp_above,
        fp_above,
        is_spread,
        total_positives,
        tp_squares,
        tp_squares_above,
        fp_squares,
        fp_squares_above,
        n,
        n_above,
        z,
        5e-1 * (tp + tp_above) AS tp_middle,
        5e-1 * (tp - tp_above) AS tp_half,
        5e-1 * (fp + fp_above) AS fp_middle,
        5e-1 * (fp - fp_above) AS fp_half,
        n_middle,
        mean_inverse,
        -- Half the integral of -x / (1 + z x).
        CASE
            WHEN n_above = 0 THEN 0e0
            WHEN z < 1e-2 THEN z * (
                3.333333333333333e-1 + z * z * (2e-1 + z * z * 1.4285714285714285e-1)
            )
            ELSE (mean_inverse - 1e0) * (1e0 / NULLIF(z, 0))
        END AS mean_share,
        -- Half the integrals of 1, x and x^2 over (1 + z x)^2 for x from -1 to 1. On the segment
        -- from (0, 0) the precision is constant and no row lies above, which the values 0, 1/2 and
        -- 0 express. Close to 0 the closed form loses digits, but its series does not.
        flat,
        CASE
            WHEN n_above = 0 THEN 5e-1
            WHEN z < 1e-2 THEN -z * (
                6.666666666666666e-1 + z * z * (8e-1 + z * z * 8.571428571428571e-1)
            )
            ELSE (mean_inverse - flat) * (1e0 / NULLIF(z, 0))
        END AS slope,
        CASE
            WHEN n_above = 0 THEN 0e0
            WHEN z < 1e-2 THEN
                3.333333333333333e-1 + z * z * (6e-1 + z * z * 7.142857142857143e-1)
            ELSE (1e0 - 2e0 * mean_inverse + flat) / NULLIF(z * z, 0)
        END AS bend
    FROM (
        SELECT
            slice,
            tp,
            fp,
            tp_above,
            fp_above,
            is_spread,
            total_positives,
            tp_squares,
            tp_squares_above,
            fp_squares,
            fp_squares_above,
            n,
            n_above,
            z,
            5e-1 * (n + n_above) AS n_middle,
            -- 1 / (1 - z^2), without 1 - z, which loses digits if few rows lie above.
            CASE
                WHEN n_above > 0
                THEN (5e-1 * (n + n_above) / NULLIF(n, 0)) * (5e-1 * (n + n_above) / NULLIF(n_above, 0))
                ELSE 0e0
            END AS flat,
            -- Half the integral of 1 / (1 + z x).
            CASE
                WHEN n_above = 0 THEN 1e0
                WHEN z < 1e-2 THEN 1e0 + z * z * (
                    3.333333333333333e-1 + z * z * (2e-1 + z * z * 1.4285714285714285e-1)
                )
                ELSE 5e-1 * LN(CAST(n AS DOUBLE) / NULLIF(n_above, 0)) / NULLIF(z, 0)
            END AS mean_inverse
        FROM (
            SELECT
                slice,
                tp,
                fp,
                tp_above,
                fp_above,
                is_spread,
                total_positives,
                tp_squares,
                tp_squares_above,
                fp_squares,
                fp_squares_above,
                CAST(tp + fp AS DOUBLE) AS n,
                CAST(tp_above + fp_above AS DOUBLE) AS n_above,
                CAST((tp - tp_above) + (fp - fp_above) AS DOUBLE)
                    / NULLIF(tp + fp + tp_above + fp_above, 0) AS z
            FROM segments
            WHERE tp > tp_above
        ) AS sizes
    ) AS logarithms
) AS integrals
