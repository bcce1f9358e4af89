/*
summary: >-
  gain, lift and KS after each of a number of equal parts of the rows, by descending score; a tie
  across a boundary counts in proportion
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
    threshold,
    CAST(tp_above + (tp - tp_above) * taken AS DOUBLE) / NULLIF(total_positives, 0) AS gain,
    CAST(tp_above + (tp - tp_above) * taken AS DOUBLE) / NULLIF(total_positives, 0)
        * $bins / NULLIF(part, 0) AS lift,
    CAST(tp_above + (tp - tp_above) * taken AS DOUBLE) / NULLIF(total_positives, 0)
        - CAST(fp_above + (fp - fp_above) * taken AS DOUBLE) / NULLIF(total_negatives, 0) AS ks
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
        CAST(place - tp_above - fp_above AS DOUBLE)
            / NULLIF(tp + fp - tp_above - fp_above, 0) AS taken
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
                * (segments.total_positives + segments.total_negatives) AS place
        FROM segments
        CROSS JOIN bins
    ) AS places
    -- Slightly lower, so that the last boundary is reached even if sums of real-valued weights are
    -- rounded.
    WHERE
        place * (1e0 - 1e-13) > tp_above + fp_above
        AND place * (1e0 - 1e-13) <= tp + fp
) AS reached
