/*
summary: per class, how often it was true, how often predicted, how often both
*/
SELECT
    slice,
    class,
    SUM(n_label) AS actual,
    SUM(n_prediction) AS predicted,
    SUM(n_both) AS matched
FROM (
    SELECT
        slice,
        label AS class,
        n AS n_label,
        0 AS n_prediction,
        CASE WHEN label = prediction THEN n ELSE 0 END AS n_both
    FROM confusion
    UNION ALL
    SELECT
        slice,
        prediction AS class,
        0 AS n_label,
        n AS n_prediction,
        0 AS n_both
    FROM confusion
) AS sides
GROUP BY
    slice,
    class
