/*
summary: >-
  coarse bins to resolve into single scores, the heaviest first, so that an area under the
  precision-recall curve is known within the tolerance
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
        SUM(area) OVER (
            PARTITION BY slice ORDER BY area, bin
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS left_open
    FROM (
        SELECT
            slice,
            bin,
            -- Precision within the bin lies between its values with all negatives and all positives
            -- first.
            CAST(positives AS DOUBLE) / NULLIF(total_positives, 0) * (
                CAST(tp AS DOUBLE) / NULLIF(tp + fp - negatives, 0)
                - COALESCE(CAST(tp - positives AS DOUBLE) / NULLIF(tp - positives + fp, 0), 1e0)
            ) AS area
        FROM coarse_cutoffs
    ) AS weighed
    WHERE area > 0
) AS cumulative
WHERE left_open > $tolerance
