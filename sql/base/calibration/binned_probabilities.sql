/*
summary: >-
  each row's probability and bin number; bins of equal width, each without its lower edge, as in
  scikit-learn's calibration_curve
params:
  bins: int in [1, inf) = 10
means: [p]
*/
SELECT
    slice,
    label,
    p,
    -- score * bins is rounded, so the bin is checked against the edges that numpy.linspace gives, k
    -- * (1 / bins).
    CASE
        WHEN place > 0 AND p <= place * (1e0 / NULLIF($bins, 0)) THEN place - 1
        WHEN place + 1 < $bins AND p > (place + 1) * (1e0 / NULLIF($bins, 0)) THEN place + 1
        ELSE place
    END AS number,
    weight,
    squares
FROM (
    SELECT
        slice,
        label,
        weight,
        squares,
        CAST(score AS DOUBLE) AS p,
        LEAST(GREATEST(CEIL(CAST(score AS DOUBLE) * $bins) - 1e0, 0e0), $bins - 1e0) AS place
    FROM predictions
) AS placed
