/*
summary: >-
  confusion matrix in long form: n is the number of rows, or their total weight, per label and
  prediction
chart:
  title: Confusion matrix
  draw: matrix
  columns: [n]
types: {label: class, prediction: class, n: count}
*/
SELECT
    slice,
    label,
    prediction,
    n
FROM decision_counts
