/*
summary: correlation between labels and predictions, for two or more classes
formula: (c s - sum_k p_k t_k) / sqrt((s^2 - sum_k p_k^2) (s^2 - sum_k t_k^2))
direction: higher
range: -1 .. 1
reference: sklearn.metrics.matthews_corrcoef
aliases: [mcc, phi_coefficient]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    -- As DOUBLE before multiplying: the product of two counts overflows BIGINT on other engines.
    -- With real-valued weights a sum that should be 0 is off by rounding, hence the 1e-13.
    CASE
        WHEN SUM(actual) - MAX(actual) > 1e-13 * SUM(actual)
            AND SUM(actual) - MAX(predicted) > 1e-13 * SUM(actual)
        THEN 1e0
    END
    -- The two roots are rounded; without the bounds the value could be slightly outside -1 .. 1.
    * LEAST(
        GREATEST(
            (CAST(SUM(matched) AS DOUBLE) * SUM(actual) - SUM(CAST(actual AS DOUBLE) * predicted))
                / NULLIF(
                    SQRT(CAST(SUM(actual) AS DOUBLE) * SUM(actual)
                        - SUM(CAST(predicted AS DOUBLE) * predicted))
                    * SQRT(CAST(SUM(actual) AS DOUBLE) * SUM(actual)
                        - SUM(CAST(actual AS DOUBLE) * actual)),
                    0
                ),
            -1e0
        ),
        1e0
    ) AS value,
    CASE
        WHEN SUM(actual) = 0 THEN 'total weight is 0'
        WHEN SUM(actual) - MAX(actual) <= 1e-13 * SUM(actual) THEN 'only one class among the labels'
        WHEN SUM(actual) - MAX(predicted) <= 1e-13 * SUM(actual) THEN 'only one class is predicted'
    END AS note
FROM class_counts
GROUP BY slice
