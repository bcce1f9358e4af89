/*
summary: >-
  class_counts beside the total of their slice, and the largest rounding error of a sum of
  real-valued weights that should be 0 (slack); whole numbers are added exactly
*/
SELECT
    slice,
    class,
    actual,
    predicted,
    matched,
    missed,
    mistaken,
    matched_squares,
    missed_squares,
    total,
    total_squares,
    CASE
        WHEN actual = FLOOR(actual) AND predicted = FLOOR(predicted) AND total = FLOOR(total)
        THEN 0e0
        ELSE 1e-13 * total
    END AS slack
FROM (
    SELECT
        slice,
        class,
        actual,
        predicted,
        matched,
        missed,
        mistaken,
        matched_squares,
        missed_squares,
        SUM(actual) OVER (PARTITION BY slice) AS total,
        SUM(matched_squares + missed_squares) OVER (PARTITION BY slice) AS total_squares
    FROM class_counts
) AS totalled
