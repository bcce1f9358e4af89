/*
summary: >-
  the bins to tell apart so that an area under the precision-recall curve is left open by no more
  than the tolerance: the heaviest
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
        SUM(area) OVER (
            PARTITION BY slice ORDER BY area, bin
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS left_open
    FROM (
        SELECT
            slice,
            bin,
            -- Precision is between that with all its negatives first and all its positives first.
            CAST(positives AS DOUBLE) / NULLIF(total_positives, 0) * (
                CAST(tp AS DOUBLE) / NULLIF(tp + fp - negatives, 0)
                - COALESCE(CAST(tp - positives AS DOUBLE) / NULLIF(tp - positives + fp, 0), 1e0)
            ) AS area
        FROM coarse_cutoffs
    ) AS weighed
    WHERE area > 0
) AS cumulative
WHERE left_open > $tolerance
