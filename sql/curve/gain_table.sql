/*
summary: >-
  gain, lift and the distance of the two classes where each of so many equal parts of the rows
  is reached; a tie that straddles the place is taken in part
formula: gain = tp / P, lift = gain / share, ks = tpr - fpr
params:
  bins: series = 10
order: share
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
    -- A hair's breadth, so that the last place is reached where sums of real weights round.
    WHERE
        place * (1e0 - 1e-13) > tp_above + fp_above
        AND place * (1e0 - 1e-13) <= tp + fp
) AS reached
