/*
summary: >-
  share of the sum of labels against the share of rows, from the lowest prediction on, at about
  equal steps of the share of rows; rows of equal prediction are one point; NULL if a label is
  negative or all are 0
formula: share = sum(w [p <= t]) / sum(w), label_share = sum(w y [p <= t]) / sum(w y)
params:
  bins: int in [1, inf) = 100
order: share
chart:
  title: Lorenz curve
  x: [share, "Share of rows, lowest prediction first"]
  y: [label_share, Share of the sum of labels]
  diagonal: random
  percent: true
  metric: [normalized Gini, regression_gini]
  undefined: a label is negative, or all are 0
reference: Frees, Meyers and Cummings (2011), doi:10.1198/jasa.2011.tm10362
aliases: [concentration_curve]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    prediction,
    CAST(reached AS DOUBLE) / NULLIF(total, 0) AS share,
    CASE WHEN lowest_label >= 0
        THEN CAST(label_sum_reached AS DOUBLE) / NULLIF(total_labels, 0)
    END AS label_share
FROM prediction_ranks
-- At most one point in each step of the share. A little more, because shares are rounded.
WHERE
    FLOOR(CAST(reached AS DOUBLE) * $bins / NULLIF(total, 0) + 1e-9)
    > FLOOR(CAST(reached - mass AS DOUBLE) * $bins / NULLIF(total, 0) + 1e-9)
UNION ALL
SELECT
    slice,
    CAST(NULL AS DOUBLE) AS prediction,
    0e0 AS share,
    CASE WHEN MIN(lowest_label) >= 0 AND SUM(label_sum) > 0 THEN 0e0 END AS label_share
FROM prediction_counts
GROUP BY slice
