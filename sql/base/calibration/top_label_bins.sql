/*
summary: >-
  per bin of the highest score of a row: rows, rows whose label has it, and the sum of these scores;
  bins of equal width, each without its lower edge
params:
  bins: int in [1, inf) = 10
*/
SELECT
    slice,
    number,
    SUM(weight) AS n,
    SUM(weight * is_top) AS n_right,
    SUM(weight * p) AS score_sum
FROM (
    SELECT
        slice,
        p,
        is_top,
        -- The edges are those of binned_probabilities.sql.
        CASE
            WHEN place > 0 AND p <= place * (1e0 / NULLIF($bins, 0)) THEN place - 1
            WHEN place + 1 < $bins AND p > (place + 1) * (1e0 / NULLIF($bins, 0)) THEN place + 1
            ELSE place
        END AS number,
        weight
    FROM (
        SELECT
            slice,
            is_top,
            weight,
            CAST(top_score AS DOUBLE) AS p,
            LEAST(GREATEST(CEIL(CAST(top_score AS DOUBLE) * $bins) - 1e0, 0e0), $bins - 1e0)
                AS place
        FROM label_scores
        WHERE weight > 0
    ) AS placed
) AS numbered
GROUP BY
    slice,
    number
