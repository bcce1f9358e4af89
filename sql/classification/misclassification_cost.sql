/*
summary: mean cost of a row, each pair of label and prediction with its own cost; a right prediction costs 0 unless it is given a cost
formula: sum over pairs of n(label, prediction) cost(label, prediction) / n
direction: lower
range: 0 .. inf
params:
  cost_matrix: matrix = null
reference: sklearn.metrics.confusion_matrix # weighted by the costs
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    -- Sums of real weights leave a last digit where every pair has its cost.
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
