/*
summary: >-
  coarse bins to resolve into single scores so that the largest distance between tpr and fpr is
  known within the tolerance: the bins inside which the distance could be larger than at the end of
  any bin
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
        GREATEST(
            ABS(
                CAST(tp AS DOUBLE) / NULLIF(total_positives, 0)
                - CAST(fp - negatives AS DOUBLE) / NULLIF(total_negatives, 0)
            ),
            ABS(
                CAST(tp - positives AS DOUBLE) / NULLIF(total_positives, 0)
                - CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0)
            )
        ) AS at_most,
        MAX(GREATEST(
            CAST(tp AS DOUBLE) / NULLIF(total_positives, 0)
                - CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0),
            0e0
        )) OVER (PARTITION BY slice) AS at_least
    FROM coarse_cutoffs
) AS judged
WHERE at_most > at_least + $tolerance
