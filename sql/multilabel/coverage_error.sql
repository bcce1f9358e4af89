/*
summary: >-
  how many labels must be taken from the top to include all true ones; 0 for a row without labels
formula: largest number of labels that reach the score of a true label
direction: lower
range: 0 .. inf
reference: sklearn.metrics.coverage_error
task: many labels
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(MAX(CASE WHEN label = 1 THEN reached ELSE 0 END) AS DOUBLE) AS value
FROM ranked_labels
GROUP BY slice
