/*
summary: >-
  gain, lift and KS after each of a number of equal parts of the rows, by descending score; and the
  number of rows, of positives and the scores (threshold to upper) of each part; a tie across a
  boundary counts in proportion
formula: gain = tp / P, lift = gain / share, ks = tpr - fpr
params:
  bins: series = 10
order: share
chart:
  title: Lift
  draw: gain_table
  columns: [share, lift]
reference: Provost and Fawcett (2013), Data Science for Business, chapter 8
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(part AS DOUBLE) / NULLIF($bins, 0) AS share,
    lowest AS threshold,
    CAST(tp_end AS DOUBLE) / NULLIF(total_positives, 0) AS gain,
    CAST(tp_end AS DOUBLE) / NULLIF(total_positives, 0) * $bins / NULLIF(part, 0) AS lift,
    CAST(tp_end AS DOUBLE) / NULLIF(total_positives, 0)
        - CAST(fp_end AS DOUBLE) / NULLIF(total_negatives, 0) AS ks,
    CAST(total_positives + total_negatives AS DOUBLE) / NULLIF($bins, 0) AS n,
    tp_end - tp_start AS n_positive,
    highest AS upper
FROM (
    SELECT
        slice,
        part,
        total_positives,
        total_negatives,
        MAX(CASE WHEN is_end = 1 THEN threshold END) AS lowest,
        MAX(CASE WHEN is_start = 1 THEN threshold END) AS highest,
        MAX(CASE WHEN is_end = 1 THEN tp_above + (tp - tp_above) * taken END) AS tp_end,
        MAX(CASE WHEN is_end = 1 THEN fp_above + (fp - fp_above) * taken END) AS fp_end,
        MAX(CASE WHEN is_start = 1 THEN tp_above + (tp - tp_above) * passed END) AS tp_start
    FROM (
        SELECT
            slice,
            part,
            threshold,
            tp,
            fp,
            tp_above,
            fp_above,
            total_positives,
            total_negatives,
            -- Slightly lower, so that the last boundary is reached even if sums of real-valued
            -- weights are rounded; and slightly higher, so that a part starts below the boundary.
            CASE
                WHEN
                    place * (1e0 - 1e-13) > tp_above + fp_above
                    AND place * (1e0 - 1e-13) <= tp + fp
                THEN 1
                ELSE 0
            END AS is_end,
            CASE
                WHEN
                    place_before * (1e0 + 1e-13) >= tp_above + fp_above
                    AND place_before * (1e0 + 1e-13) < tp + fp
                THEN 1
                ELSE 0
            END AS is_start,
            CAST(place - tp_above - fp_above AS DOUBLE)
                / NULLIF(tp + fp - tp_above - fp_above, 0) AS taken,
            CAST(place_before - tp_above - fp_above AS DOUBLE)
                / NULLIF(tp + fp - tp_above - fp_above, 0) AS passed
        FROM (
            SELECT
                segments.slice,
                bins.i AS part,
                segments.threshold,
                segments.tp,
                segments.fp,
                segments.tp_above,
                segments.fp_above,
                segments.total_positives,
                segments.total_negatives,
                CAST(bins.i AS DOUBLE) / NULLIF($bins, 0)
                    * (segments.total_positives + segments.total_negatives) AS place,
                CAST(bins.i - 1 AS DOUBLE) / NULLIF($bins, 0)
                    * (segments.total_positives + segments.total_negatives) AS place_before
            FROM segments
            CROSS JOIN bins
        ) AS places
    ) AS reached
    WHERE is_end = 1 OR is_start = 1
    GROUP BY slice, part, total_positives, total_negatives
) AS parts
