/*
summary: >-
  mean cost per row, with a cost for each pair of label and prediction; a correct prediction costs 0
  unless the matrix gives it a cost
formula: sum over pairs of n(label, prediction) cost(label, prediction) / n
direction: lower
range: 0 .. inf
params:
  cost_matrix: matrix = null
interval: delta
expectation: exact
reference: sklearn.metrics.confusion_matrix # weighted by the costs
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    -- With real-valued weights, a sum that should be 0 differs from 0 by rounding, hence the 1e-13.
    CASE WHEN SUM(unpriced) <= 1e-13 * SUM(total)
        THEN CAST(SUM(total_cost) AS DOUBLE) / NULLIF(SUM(total), 0)
    END AS value,
    CASE
        WHEN SUM(total) = 0 THEN 'total weight is 0'
        WHEN SUM(unpriced) > 1e-13 * SUM(total)
        THEN 'a pair of label and prediction has no cost'
    END AS note
FROM (
    SELECT
        slice,
        0e0 AS total_cost,
        n AS total,
        CASE WHEN label = prediction THEN 0 ELSE n END AS unpriced
    FROM confusion
    UNION ALL
    SELECT
        confusion.slice,
        confusion.n * cost_matrix.cost AS total_cost,
        0 AS total,
        CASE WHEN confusion.label = confusion.prediction THEN 0 ELSE -confusion.n END AS unpriced
    FROM confusion
    JOIN cost_matrix USING (label, prediction)
) AS cells
GROUP BY slice
