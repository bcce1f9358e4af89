/*
summary: >-
  each row's probability and the number of its bin, as scikit-learn's calibration_curve makes them:
  of equal width, open below
params:
  bins: int in [1, inf) = 10
means: [p]
*/
SELECT
    slice,
    label,
    p,
    -- The edges are those of linspace, k times 1 / bins, and a product with the score rounds.
    CASE
        WHEN place > 0 AND p <= place * (1e0 / NULLIF($bins, 0)) THEN place - 1
        WHEN place + 1 < $bins AND p > (place + 1) * (1e0 / NULLIF($bins, 0)) THEN place + 1
        ELSE place
    END AS number,
    weight
FROM (
    SELECT
        slice,
        label,
        weight,
        CAST(score AS DOUBLE) AS p,
        LEAST(GREATEST(CEIL(CAST(score AS DOUBLE) * $bins) - 1e0, 0e0), $bins - 1e0) AS place
    FROM predictions
) AS placed
