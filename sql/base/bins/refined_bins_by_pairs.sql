/*
summary: >-
  coarse bins to resolve into single scores, the heaviest first, so that the positive-negative pairs
  inside the other bins are at most the tolerance, as a share of all pairs
params:
  tolerance: float in (0, 1) = 1e-5
*/
SELECT
    slice,
    bin
FROM (
    SELECT
        slice,
        bin,
        -- Uncertainty that this bin and all lighter ones leave together.
        SUM(pairs) OVER (
            PARTITION BY slice ORDER BY pairs, bin
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS left_open
    FROM (
        SELECT
            slice,
            bin,
            CAST(positives AS DOUBLE) / NULLIF(SUM(positives) OVER (PARTITION BY slice), 0)
                * (CAST(negatives AS DOUBLE) / NULLIF(SUM(negatives) OVER (PARTITION BY slice), 0))
                AS pairs
        FROM coarse_bins
    ) AS weighed
    WHERE pairs > 0
) AS cumulative
WHERE left_open > $tolerance
