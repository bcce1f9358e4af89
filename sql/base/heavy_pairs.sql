/*
summary: >-
  the bins to tell apart so that the pairs of a positive and a negative in one of the others are no
  more than the tolerance, as a share of all pairs: the heaviest
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
        -- From the lightest on, what the bins so far leave open together.
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
