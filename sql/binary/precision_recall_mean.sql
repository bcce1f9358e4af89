/*
summary: arithmetic mean of precision and recall
formula: (P + R) / 2
direction: higher
range: 0 .. 1
interval: delta
reference: numpy.mean # of sklearn.metrics.precision_score and recall_score
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    5e-1 * (CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0) + CAST(tp AS DOUBLE) / NULLIF(tp + fn, 0)) AS value,
    CASE
        WHEN tp + fn = 0 THEN 'no positive labels'
        WHEN tp + fp = 0 THEN 'no predicted positives'
    END AS note
FROM outcomes
