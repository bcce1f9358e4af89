/*
summary: Pearson's correlation, times the smaller of the mean errors above and below the labels over the larger
formula: r min(MAE of p > y, MAE of p <= y) / max(of both)
direction: higher
range: -1 .. 1
reference: yardstick::iic # Toropova and Toropov (2017), doi:10.1016/j.scitotenv.2017.01.198
aliases: [iic]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CASE WHEN weight_above > 0 AND weight_below > 0
        THEN correlation * (
            LEAST(
                CAST(error_above AS DOUBLE) / NULLIF(weight_above, 0),
                CAST(error_below AS DOUBLE) / NULLIF(weight_below, 0)
            ) / NULLIF(
                GREATEST(
                    CAST(error_above AS DOUBLE) / NULLIF(weight_above, 0),
                    CAST(error_below AS DOUBLE) / NULLIF(weight_below, 0)
                ),
                0
            )
        )
    END AS value,
    CASE
        WHEN correlation IS NULL THEN reason
        WHEN weight_above = 0 THEN 'no prediction above its label'
        WHEN weight_below = 0 THEN 'every prediction above its label'
    END AS note
FROM (SELECT slice, value AS correlation, note AS reason FROM pearson) AS correlations
JOIN (
    SELECT
        slice,
        SUM(CASE WHEN prediction > label THEN weight ELSE 0 END) AS weight_above,
        SUM(CASE WHEN prediction > label THEN 0 ELSE weight END) AS weight_below,
        SUM(CASE WHEN prediction > label THEN weight * (prediction - label) ELSE 0 END) AS error_above,
        SUM(CASE WHEN prediction > label THEN 0 ELSE weight * (label - prediction) END) AS error_below
    FROM predictions
    GROUP BY slice
) AS sides USING (slice)
