/*
summary: by label and prediction, the concordant less the discordant rows
*/
-- As in label_digits.sql. A row is concordant with rows of a smaller digit and a smaller
-- prediction, and of a larger digit and a larger prediction. Rows up to a prediction less those
-- from it on leave out equal predictions.
SELECT
    slice,
    label,
    prediction,
    SUM(
        CASE
            WHEN digit = 0 THEN below_1
            WHEN digit = 1 THEN below_1 + below_2
            WHEN digit = 2 THEN below_2 + below_3
            ELSE below_3 + below_4
        END - below_4
    ) AS net
FROM (
    SELECT
        slice,
        label,
        prediction,
        digit,
        up_1 - down_1 AS below_1,
        up_2 - down_2 AS below_2,
        up_3 - down_3 AS below_3,
        up_4 - down_4 AS below_4
    FROM digit_sums
) AS compared
GROUP BY
    slice,
    label,
    prediction
