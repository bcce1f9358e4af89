/*
summary: >-
  precision, recall and F1 of each label, with the number of rows that have it (support) and for
  which it is predicted (predictions)
formula: tp / (tp + fp), tp / (tp + fn), 2 tp / (2 tp + fp + fn)
reference: sklearn.metrics.classification_report
task: classes
types: {support: count, predictions: count}
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0) AS precision,
    CAST(tp AS DOUBLE) / NULLIF(tp + fn, 0) AS recall,
    CAST(2 * tp AS DOUBLE) / NULLIF(2 * tp + fp + fn, 0) AS f1,
    tp + fn AS support,
    tp + fp AS predictions
FROM outcomes
