/*
summary: >-
  confusion matrix in long form: n is the number of rows, or their total weight, per label and
  prediction
types: {label: class, prediction: class, n: count}
*/
SELECT
    slice,
    label,
    prediction,
    n
FROM decision_counts
