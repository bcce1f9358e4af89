/*
summary: >-
  share of the positives found (gain) against the share of rows predicted positive, and their ratio
  (lift)
formula: share = (tp + fp) / all, gain = tp / P, lift = gain / share
order: threshold DESC, share
band: [share, gain, lines]
direction: higher
chart:
  title: Gain curve
  x: [share, Share of rows targeted]
  y: [gain, Share of positives found (gain)]
  diagonal: random
  percent: true
reference: Provost and Fawcett (2013), Data Science for Business, chapter 8
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    threshold,
    CAST(tp + fp AS DOUBLE) / NULLIF(total_positives + total_negatives, 0) AS share,
    CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS gain,
    CAST(tp AS DOUBLE) / NULLIF(total_positives, 0)
        / NULLIF(CAST(tp + fp AS DOUBLE) / NULLIF(total_positives + total_negatives, 0), 0) AS lift
FROM segments
WHERE tp + fp > tp_above + fp_above
UNION ALL
SELECT
    slice,
    CAST('Infinity' AS DOUBLE) AS threshold,
    0e0 AS share,
    CASE WHEN total_positives > 0 THEN 0e0 END AS gain,
    CAST(NULL AS DOUBLE) AS lift
FROM totals
