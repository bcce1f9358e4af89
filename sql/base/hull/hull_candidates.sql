/*
summary: >-
  candidates for vertices of the convex hull of the ROC curve: corners above the line through the
  corners before and after, with their height above the diagonal and the number of their strip, of
  4,096 across the diagonal
*/
SELECT
    slice,
    threshold,
    fp,
    tp,
    CAST(tp AS DOUBLE) / NULLIF(total_positives, 0)
        - CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0) AS height,
    FLOOR(
        2.048e3 * tp / NULLIF(total_positives, 0) + 2.048e3 * fp / NULLIF(total_negatives, 0)
    ) AS strip,
    total_positives,
    total_negatives
FROM roc_corners
WHERE
    up_after IS NULL
    -- Slopes are compared as shares, because products overflow for counts and vanish for tiny
    -- weights.
    OR CAST(up_before AS DOUBLE) / NULLIF(up_before + right_before, 0)
        > CAST(up_after AS DOUBLE) / NULLIF(up_after + right_after, 0)
UNION ALL
SELECT
    slice,
    CAST('Infinity' AS DOUBLE) AS threshold,
    0 AS fp,
    0 AS tp,
    0e0 AS height,
    0e0 AS strip,
    total_positives,
    total_negatives
FROM totals
WHERE total_positives > 0 AND total_negatives > 0
