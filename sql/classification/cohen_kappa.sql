/*
summary: >-
  agreement between labels and predictions beyond the agreement expected by chance from their
  frequencies; with weights=, near misses of ordered classes count less than others
formula: >-
  1 - mean d(label, prediction) / mean d(label, random prediction), d = [i != j], or |i - j|
  (linear), or (i - j)^2 (quadratic), i and j the places of the classes that occur, in order
direction: higher
range: -1 .. 1
interval: delta
reference: sklearn.metrics.cohen_kappa_score
aliases: [cohen_kappa_score, kappa]
task: classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    -- The expected distance is 0 for one class alone, where it may be rounded.
    CASE WHEN MAX(n_classes) > 1 THEN 1e0 END
        - CAST(MAX(observed) AS DOUBLE) / NULLIF(MAX(expected), 0) AS value,
    CASE
        WHEN SUM(n) = 0 THEN 'total weight is 0'
        WHEN MAX(n_classes) = 1 THEN 'one class is all that occurs and all that is predicted'
    END AS note
FROM disagreement
GROUP BY slice
