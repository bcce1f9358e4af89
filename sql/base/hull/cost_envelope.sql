/*
summary: >-
  corners of the lower envelope of the cost lines, from (0, 0) to (1, 0), each from two neighbouring
  vertices of the convex hull; threshold is the best one from this corner to the next
*/
SELECT
    slice,
    threshold,
    CASE WHEN fpr_before IS NULL THEN 0e0
        -- Rounded rates must not leave the axis.
        ELSE LEAST(
            CAST(fpr - fpr_before AS DOUBLE) / NULLIF((fpr - fpr_before) + (tpr - tpr_before), 0),
            1e0
        )
    END AS probability_cost,
    CASE WHEN fpr_before IS NULL THEN 0e0
        ELSE GREATEST(
            CAST(fpr * (tpr - tpr_before) + (1e0 - tpr) * (fpr - fpr_before) AS DOUBLE)
                / NULLIF((fpr - fpr_before) + (tpr - tpr_before), 0),
            0e0
        )
    END AS normalized_cost
FROM (
    SELECT
        slice,
        threshold,
        fpr,
        tpr,
        LAG(fpr) OVER (PARTITION BY slice ORDER BY fpr, tpr) AS fpr_before,
        LAG(tpr) OVER (PARTITION BY slice ORDER BY fpr, tpr) AS tpr_before
    FROM (
        SELECT
            slice,
            threshold,
            CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0) AS fpr,
            CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS tpr
        FROM convex_hull
    ) AS vertices
) AS edges
UNION ALL
SELECT
    slice,
    MIN(cutoff) AS threshold,
    1e0 AS probability_cost,
    0e0 AS normalized_cost
FROM (
    -- The last vertex is the end of the curve. It is not read from the hull, which some engines
    -- would compute a second time.
    SELECT
        slice,
        threshold AS cutoff
    FROM segments
    WHERE total_positives > 0 AND total_negatives > 0
) AS ends
GROUP BY slice
HAVING COUNT(*) > 0
