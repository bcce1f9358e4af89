/*
summary: each row's label and its decision, score >= threshold
params:
  threshold: float = 0.5
*/
SELECT
    slice,
    label,
    CASE WHEN score >= $threshold THEN 1 ELSE 0 END AS prediction,
    weight,
    squares
FROM predictions
