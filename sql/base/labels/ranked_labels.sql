/*
summary: >-
  the labels of a row by their score: how many labels, and how many true labels, reach the score of
  each
*/
SELECT
    slice,
    label,
    -- The default frame takes tied scores whole, so that they count against the row, as in
    -- scikit-learn.
    COUNT(*) OVER (PARTITION BY slice ORDER BY score DESC) AS reached,
    SUM(label) OVER (PARTITION BY slice ORDER BY score DESC) AS reached_true
FROM predictions
