/*
summary: each row's label, and the largest threshold of the statement that its score reaches
params:
  threshold: float = 0.5
*/
-- The compiler replaces the CASE by a search among all thresholds of the statement.
SELECT
    slice,
    label,
    CASE WHEN score >= $threshold THEN $threshold END AS reached,
    weight,
    squares
FROM predictions
