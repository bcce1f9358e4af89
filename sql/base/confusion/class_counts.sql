/*
summary: >-
  per class: how often it is the label, the prediction, both, or only one of them, with the sums of
  squared weights; classes with total weight 0 are left out
*/
SELECT
    slice,
    class,
    SUM(n_label) AS actual,
    SUM(n_prediction) AS predicted,
    SUM(n_both) AS matched,
    SUM(n_label_only) AS missed,
    SUM(n_prediction_only) AS mistaken,
    SUM(squares_both) AS matched_squares,
    SUM(squares_label_only) AS missed_squares,
    SUM(squares_prediction_only) AS mistaken_squares
FROM (
    SELECT
        slice,
        label AS class,
        n AS n_label,
        0 AS n_prediction,
        CASE WHEN label = prediction THEN n ELSE 0 END AS n_both,
        CASE WHEN label = prediction THEN 0 ELSE n END AS n_label_only,
        0 AS n_prediction_only,
        CASE WHEN label = prediction THEN n_squares ELSE 0 END AS squares_both,
        CASE WHEN label = prediction THEN 0 ELSE n_squares END AS squares_label_only,
        0 AS squares_prediction_only
    FROM decision_counts
    UNION ALL
    SELECT
        slice,
        prediction AS class,
        0 AS n_label,
        n AS n_prediction,
        0 AS n_both,
        0 AS n_label_only,
        CASE WHEN label = prediction THEN 0 ELSE n END AS n_prediction_only,
        0 AS squares_both,
        0 AS squares_label_only,
        CASE WHEN label = prediction THEN 0 ELSE n_squares END AS squares_prediction_only
    FROM decision_counts
) AS sides
GROUP BY
    slice,
    class
HAVING SUM(n_label) + SUM(n_prediction) > 0
