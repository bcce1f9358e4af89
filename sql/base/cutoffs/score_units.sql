/*
summary: >-
  each row as one whole number, `cell` + `label`, in the order of slices, then of scores; rows of
  one `cell` have equal or nearly equal scores
across: slices
*/
-- Below 1, `scaled` is the score times a power of two, without rounding. Scores of 1 and more
-- follow as 2 - 1 / score: infinity becomes 2, and the order stays. No step of this rounds a lower
-- score to a higher number.
SELECT
    slice_number,
    label,
    score,
    slice_number * width
        + 2 * (zero + CAST(FLOOR(LEAST(scaled, zero * (1e0 - POWER(2e0, -50)))) AS BIGINT)) AS cell
FROM (
    SELECT
        slice_number,
        label,
        score,
        width,
        zero,
        CASE
            WHEN ABS(score) < 1 THEN CAST(score AS DOUBLE)
            WHEN score > 0 THEN 2e0 - 1e0 / NULLIF(CAST(score AS DOUBLE), 0)
            ELSE -2e0 - 1e0 / NULLIF(CAST(score AS DOUBLE), 0)
        END * scale AS scaled
    FROM predictions
    CROSS JOIN unit_scale
) AS spread
