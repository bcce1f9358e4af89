/*
summary: >-
  reference and current rows in bins between quantiles of the reference; bins without reference
  rows are merged with the one below or above them
params: {bins: "int in [2, 1000] = 10"}
*/
SELECT
    slice,
    category,
    SUM(reference_of_place) AS reference_rows,
    SUM(current_of_place) AS current_rows
FROM (
    SELECT
        slice,
        -- Scores above all of the reference belong to its last bin.
        LEAST(place, MAX(CASE WHEN reference_of_place > 0 THEN place END) OVER (PARTITION BY slice))
            AS category,
        reference_of_place,
        current_of_place
    FROM (
        SELECT
            slice,
            -- The number of quantiles below the score: the i-th is the lowest score with
            -- at least i / bins of the reference at it or below.
            FLOOR(
                CAST(below AS DOUBLE) * $bins
                / NULLIF(CAST(SUM(reference_rows) OVER (PARTITION BY slice) AS DOUBLE), 0e0)
            ) AS place,
            reference_rows AS reference_of_place,
            current_rows AS current_of_place
        FROM (
            SELECT
                slice,
                reference_rows,
                current_rows,
                COALESCE(SUM(reference_rows) OVER (
                    PARTITION BY slice
                    ORDER BY score
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ), 0) AS below
            FROM drift_score_counts
        ) AS cumulated
    ) AS placed
) AS binned
GROUP BY
    slice,
    category
