/*
summary: >-
  confusion matrix in long form, with the share of each cell among the rows of its label, of its
  prediction, or among all rows
params:
  normalize: str in {all, true, pred} = all
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
    n,
    CAST(n AS DOUBLE) / NULLIF(
        CASE
            WHEN $normalize = 'true' THEN SUM(n) OVER (PARTITION BY slice, label)
            WHEN $normalize = 'pred' THEN SUM(n) OVER (PARTITION BY slice, prediction)
            ELSE SUM(n) OVER (PARTITION BY slice)
        END,
        0
    ) AS share
FROM decision_counts
