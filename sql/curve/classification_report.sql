/*
summary: >-
  precision, recall and F1 of each class against the others, with the number of rows that have it as
  label (support) and as prediction (predictions)
formula: matched / predicted, matched / actual, 2 matched / (predicted + actual)
order: class
reference: sklearn.metrics.classification_report
task: classes
types: {class: class, support: count, predictions: count}
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    class,
    CAST(matched AS DOUBLE) / NULLIF(predicted, 0) AS precision,
    CAST(matched AS DOUBLE) / NULLIF(actual, 0) AS recall,
    CAST(2 * matched AS DOUBLE) / NULLIF(predicted + actual, 0) AS f1,
    actual AS support,
    predicted AS predictions
FROM class_counts
