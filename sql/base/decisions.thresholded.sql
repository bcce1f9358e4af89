/*
summary: each row's label beside the decision that its score makes at the threshold
params:
  threshold: float = 0.5
*/
SELECT
    slice,
    label,
    CASE WHEN score >= $threshold THEN 1 ELSE 0 END AS prediction,
    weight
FROM predictions
