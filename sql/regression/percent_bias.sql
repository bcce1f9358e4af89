/*
summary: sum of the errors in per cent of the sum of the labels
formula: 100 sum(w (p - y)) / sum(w y)
direction: none
range: -inf .. inf
interval: delta
reference: numpy.average # of the errors over that of the labels
aliases: [pbias]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    1e2 * SUM(weight * error)
        / NULLIF(
            -- A sum of 0 is 0 except for rounding.
            CASE
                WHEN ABS(SUM(weight * actual)) > 1e-15 * SUM(weight * absolute_label)
                THEN SUM(weight * actual)
            END,
            0
        ) AS value,
    CASE
        WHEN SUM(weight) = 0 THEN 'total weight is 0'
        WHEN ABS(SUM(weight * actual)) <= 1e-15 * SUM(weight * absolute_label)
        THEN 'the labels have a sum of 0'
    END AS note
FROM relative_errors
WHERE weight > 0
GROUP BY slice
