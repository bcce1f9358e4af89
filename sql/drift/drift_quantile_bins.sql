/*
summary: >-
  reference and current rows in bins between quantiles of the reference; bins without reference
  rows are merged with the one below or above them; if all quantiles are the largest score of the
  reference, the bins are the scores below it, at it and above it
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
        CASE
            WHEN last_place > 0 THEN LEAST(place, last_place)
            -- If the reference is constant, a single bin of all rows would hide any change.
            WHEN score > last_score THEN 2e0
            WHEN score = last_score THEN 1e0
            ELSE 0e0 * place
        END AS category,
        reference_of_place,
        current_of_place
    FROM (
        SELECT
            slice,
            place,
            -- Scores above the reference's largest score belong to its last bin.
            MAX(CASE WHEN reference_of_place > 0 THEN place END) OVER (PARTITION BY slice)
                AS last_place,
            score,
            MAX(CASE WHEN reference_of_place > 0 THEN score END) OVER (PARTITION BY slice)
                AS last_score,
            reference_of_place,
            current_of_place
        FROM (
            SELECT
                slice,
                score,
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
                    score,
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
    ) AS bounded
) AS binned
GROUP BY
    slice,
    category
