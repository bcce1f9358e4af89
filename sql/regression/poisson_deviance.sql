/*
summary: mean Poisson deviance, for counts
formula: 2 mean(label ln(label / prediction) - label + prediction)
direction: lower
range: 0 .. inf
reference: sklearn.metrics.mean_poisson_deviance
aliases: [mean_poisson_deviance, neg_mean_poisson_deviance]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN label > 0 AND prediction > 0 THEN 2e0 * label * gap
        WHEN label = 0 AND prediction > 0 THEN 2e0 * prediction
    END AS row_value,
    CASE WHEN label < 0 OR prediction <= 0 THEN 'a label is below 0, or a prediction is 0 or less' END AS note
FROM (
    SELECT
        slice,
        label,
        prediction,
        -- x - ln(1 + x) makes up the deviance. Where label and prediction are nearly equal,
        -- the difference would cancel, so it is a power series.
        CASE
            WHEN ABS(x) < 1e-2
            THEN x * x * (5e-1 - x * (3.3333333333333333e-1 - x * (25e-2 - x * (2e-1 - x * (
                1.6666666666666667e-1 - x * (1.4285714285714286e-1 - x * (125e-3 - x * 1.1111111111111111e-1)))))))
            WHEN label > 0 AND prediction > 0
            THEN x - LN(CASE WHEN label > 0 AND prediction > 0
                THEN CAST(prediction AS DOUBLE) / NULLIF(label, 0) END)
        END AS gap
    FROM (
        SELECT
            slice,
            label,
            prediction,
            CAST(prediction - label AS DOUBLE) / NULLIF(label, 0) AS x
        FROM predictions
    ) AS compared
) AS gaps
