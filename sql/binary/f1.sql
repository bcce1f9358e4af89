/*
summary: harmonic mean of precision and recall
formula: 2 tp / (2 tp + fp + fn)
direction: higher
range: 0 .. 1
interval: delta
reference: sklearn.metrics.f1_score
aliases: [dice, f1_score]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(2 * tp AS DOUBLE) / NULLIF(2 * tp + fp + fn, 0) AS value,
    CASE WHEN 2 * tp + fp + fn = 0 THEN 'no positive labels and no predicted positives' END AS note
FROM outcomes
