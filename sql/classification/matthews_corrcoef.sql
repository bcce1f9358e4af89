/*
summary: correlation between labels and predictions, for two or more classes
formula: (c s - sum_k p_k t_k) / sqrt((s^2 - sum_k p_k^2) (s^2 - sum_k t_k^2))
direction: higher
range: -1 .. 1
interval: delta
reference: sklearn.metrics.matthews_corrcoef
aliases: [mcc, phi_coefficient]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    -- Cast to DOUBLE before multiplying, because the product of two counts overflows BIGINT on
    -- other engines. Every term is a sum of products, such as sum_k p_k (s - p_k) for s^2 - sum_k
    -- p_k^2, because differences of squares would cancel where a class is rare.
    CASE
        WHEN MAX(total) - MAX(actual) > MAX(slack) AND MAX(total) - MAX(predicted) > MAX(slack)
        THEN 1e0
    END
    -- With one class and real-valued weights, rounding may make a sum negative, which has no root.
    -- The two roots are rounded as well, so without the bounds the value could lie slightly outside
    -- -1 .. 1.
    * LEAST(
        GREATEST(
            SUM(
                CAST(matched AS DOUBLE) * (total - matched - missed - mistaken)
                - CAST(missed AS DOUBLE) * mistaken
            )
                / NULLIF(
                    SQRT(GREATEST(SUM(CAST(predicted AS DOUBLE) * (total - predicted)), 0e0))
                    * SQRT(GREATEST(SUM(CAST(actual AS DOUBLE) * (total - actual)), 0e0)),
                    0
                ),
            -1e0
        ),
        1e0
    ) AS value,
    CASE
        WHEN SUM(actual) = 0 THEN 'total weight is 0'
        WHEN MAX(total) - MAX(actual) <= MAX(slack) THEN 'only one class among the labels'
        WHEN MAX(total) - MAX(predicted) <= MAX(slack) THEN 'only one class is predicted'
    END AS note
FROM class_totals
GROUP BY slice
