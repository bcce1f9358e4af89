/*
summary: >-
  the weight of the rows that a model or the baseline alone predicts correctly, and of all rows that
  each predicts correctly; squares are sums of squared weights
reference: McNemar (1947)
*/
SELECT
    slice,
    COUNT(*) AS n,
    SUM(weight) AS total,
    SUM(weight * weight) AS total_squares,
    SUM(CASE WHEN prediction = label THEN weight ELSE 0 END) AS hits,
    SUM(CASE WHEN baseline_prediction = label THEN weight ELSE 0 END) AS baseline_hits,
    SUM(CASE WHEN prediction = label AND baseline_prediction <> label THEN weight ELSE 0 END)
        AS wins,
    SUM(CASE WHEN prediction <> label AND baseline_prediction = label THEN weight ELSE 0 END)
        AS losses,
    SUM(
        CASE
            WHEN prediction = label AND baseline_prediction <> label THEN weight * weight
            WHEN prediction <> label AND baseline_prediction = label THEN weight * weight
            ELSE 0
        END
    ) AS differing_squares
FROM pairs
GROUP BY slice
