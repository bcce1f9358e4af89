/*
summary: decision_counts from the rows between the thresholds of the statement, which are read once
params:
  threshold: float = 0.5
*/
SELECT
    slice,
    label,
    prediction,
    SUM(between_thresholds) AS n,
    SUM(squares_between) AS n_squares
FROM (
    SELECT
        slice,
        label,
        CASE WHEN reached >= $threshold THEN 1 ELSE 0 END AS prediction,
        n AS between_thresholds,
        n_squares AS squares_between
    FROM threshold_counts
) AS decided
GROUP BY
    slice,
    label,
    prediction
