/*
summary: geometric mean of precision and recall
formula: sqrt(P R) = tp / sqrt((tp + fp) (tp + fn))
direction: higher
range: 0 .. 1
interval: delta
reference: Fowlkes and Mallows (1983), doi:10.2307/2288117
aliases: [fowlkes_mallows_index]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(tp AS DOUBLE)
        / NULLIF(SQRT(CAST(tp + fp AS DOUBLE)) * SQRT(CAST(tp + fn AS DOUBLE)), 0) AS value,
    CASE
        WHEN tp + fn = 0 THEN 'no positive labels'
        WHEN tp + fp = 0 THEN 'no predicted positives'
    END AS note
FROM outcomes
