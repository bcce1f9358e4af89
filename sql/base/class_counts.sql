/*
summary: >-
  per class: how often it is the label, the prediction, both, or only one of them; classes with
  total weight 0 are left out
*/
SELECT
    slice,
    class,
    SUM(n_label) AS actual,
    SUM(n_prediction) AS predicted,
    SUM(n_both) AS matched,
    SUM(n_label_only) AS missed,
    SUM(n_prediction_only) AS mistaken
FROM (
    SELECT
        slice,
        label AS class,
        n AS n_label,
        0 AS n_prediction,
        CASE WHEN label = prediction THEN n ELSE 0 END AS n_both,
        CASE WHEN label = prediction THEN 0 ELSE n END AS n_label_only,
        0 AS n_prediction_only
    FROM confusion
    UNION ALL
    SELECT
        slice,
        prediction AS class,
        0 AS n_label,
        n AS n_prediction,
        0 AS n_both,
        0 AS n_label_only,
        CASE WHEN label = prediction THEN 0 ELSE n END AS n_prediction_only
    FROM confusion
) AS sides
GROUP BY
    slice,
    class
HAVING SUM(n_label) + SUM(n_prediction) > 0
