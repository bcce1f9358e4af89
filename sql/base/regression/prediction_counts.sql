/*
summary: >-
  per distinct prediction: rows, and the sum of labels; a strip is the prediction rounded to nine
  significant bits, which keeps the order
*/
SELECT
    slice,
    prediction,
    -- As in rounded_scores.sql. Windows run within strips, so that no task of a distributed engine
    -- sorts all predictions.
    CASE
        WHEN prediction > 1e290 THEN 2e290
        WHEN prediction < -1e290 THEN -2e290
        ELSE 1.7592186044417e13 * prediction - (1.7592186044417e13 * prediction - prediction)
    END AS strip,
    mass,
    label_sum,
    lowest_label
FROM (
    SELECT
        slice,
        prediction,
        SUM(weight) AS mass,
        SUM(weight * label) AS label_sum,
        MIN(label) AS lowest_label
    FROM predictions
    WHERE weight > 0
    GROUP BY
        slice,
        prediction
) AS counted
