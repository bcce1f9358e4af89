/*
summary: >-
  per slice, concordant less discordant pairs of rows, and the pairs with different labels and with
  different predictions
*/
-- A pair of different labels counts 2 if the prediction of the larger label is at least as large,
-- less 1 for each pair, and less 1 more if the predictions are equal.
SELECT
    slice,
    SUM(counted) AS total,
    SUM(ordered) - 5e-1 * (SUM(prediction_ties) - SUM(both_ties))
        - 5e-1 * (SUM(counted) * SUM(counted) - SUM(label_ties)) AS net_pairs,
    CASE
        WHEN MIN(lowest_label) < MAX(highest_label)
        THEN 5e-1 * (SUM(counted) * SUM(counted) - SUM(label_ties))
        ELSE 0e0
    END AS label_pairs,
    CASE
        WHEN MIN(lowest_prediction) < MAX(highest_prediction)
        THEN 5e-1 * (SUM(counted) * SUM(counted) - SUM(prediction_ties))
        ELSE 0e0
    END AS prediction_pairs
FROM (
    SELECT
        slice,
        0e0 AS counted,
        2e0 * pair_mass * CASE WHEN digit = 1 THEN up_1 WHEN digit = 2 THEN up_2 ELSE up_3 END
            AS ordered,
        0e0 AS label_ties,
        0e0 AS prediction_ties,
        0e0 AS both_ties,
        CAST(NULL AS DOUBLE) AS lowest_label,
        CAST(NULL AS DOUBLE) AS highest_label,
        CAST(NULL AS DOUBLE) AS lowest_prediction,
        CAST(NULL AS DOUBLE) AS highest_prediction
    FROM digit_sums
    WHERE digit > 0
    UNION ALL
    SELECT
        slice,
        CAST(mass AS DOUBLE) AS counted,
        0e0 AS ordered,
        CAST(mass AS DOUBLE) * mass AS label_ties,
        0e0 AS prediction_ties,
        0e0 AS both_ties,
        CAST(label AS DOUBLE) AS lowest_label,
        CAST(label AS DOUBLE) AS highest_label,
        CAST(NULL AS DOUBLE) AS lowest_prediction,
        CAST(NULL AS DOUBLE) AS highest_prediction
    FROM label_value_counts
    UNION ALL
    SELECT
        slice,
        0e0 AS counted,
        0e0 AS ordered,
        0e0 AS label_ties,
        CAST(SUM(mass) AS DOUBLE) * SUM(mass) AS prediction_ties,
        SUM(CAST(mass AS DOUBLE) * mass) AS both_ties,
        CAST(NULL AS DOUBLE) AS lowest_label,
        CAST(NULL AS DOUBLE) AS highest_label,
        CAST(prediction AS DOUBLE) AS lowest_prediction,
        CAST(prediction AS DOUBLE) AS highest_prediction
    FROM joint_counts
    GROUP BY
        slice,
        prediction
) AS parts
GROUP BY slice
