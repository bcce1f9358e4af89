/*
summary: >-
  vertices of the upper convex hull of the ROC curve, both ends included; only the few points that a
  coarse hull and their neighbours do not exclude are compared in pairs
repeat: 5
*/
WITH outside AS (
    -- A point below a chord between two points of the curve, here of the coarse hull, is not a
    -- vertex.
    SELECT
        slice,
        chord,
        threshold,
        fp,
        tp,
        total_positives,
        total_negatives
    FROM (
        SELECT
            slice,
            threshold,
            fp,
            tp,
            total_positives,
            total_negatives,
            n_points_before + CASE place WHEN 2 THEN n_points ELSE place END AS chord,
            CASE place WHEN 2 THEN last_fp WHEN 1 THEN first_fp ELSE fp_before END AS left_fp,
            CASE place WHEN 2 THEN last_tp WHEN 1 THEN first_tp ELSE tp_before END AS left_tp,
            CASE
                WHEN place = 2 OR first_fp IS NULL THEN fp_after
                WHEN place = 1 THEN last_fp
                ELSE first_fp
            END AS right_fp,
            CASE
                WHEN place = 2 OR first_tp IS NULL THEN tp_after
                WHEN place = 1 THEN last_tp
                ELSE first_tp
            END AS right_tp
        FROM located_candidates
    ) AS compared
    WHERE
        right_fp IS NULL
        OR (CAST(tp AS DOUBLE) - left_tp) * (right_fp - left_fp)
            >= (CAST(right_tp AS DOUBLE) - left_tp) * (fp - left_fp)
),
narrowed_by_chord AS (
    -- A point below the line through the points before and after is not a vertex either. Points are
    -- partitioned by chord, so that no task of an engine of several machines reads all points.
    SELECT
        slice,
        threshold,
        fp,
        tp,
        total_positives,
        total_negatives
    FROM (
        SELECT
            slice,
            threshold,
            fp,
            tp,
            total_positives,
            total_negatives,
            fp - LAG(fp) OVER (PARTITION BY slice, chord ORDER BY fp, tp) AS right_before,
            tp - LAG(tp) OVER (PARTITION BY slice, chord ORDER BY fp, tp) AS up_before,
            LEAD(fp) OVER (PARTITION BY slice, chord ORDER BY fp, tp) - fp AS right_after,
            LEAD(tp) OVER (PARTITION BY slice, chord ORDER BY fp, tp) - tp AS up_after
        FROM outside
    ) AS neighbours
    WHERE
        -- NULL if there is no other point, or one at the same place; such points stay.
        COALESCE(CAST(up_before AS DOUBLE) / NULLIF(up_before + right_before, 0), 2e0)
        > COALESCE(CAST(up_after AS DOUBLE) / NULLIF(up_after + right_after, 0), -1e0)
),
narrowed AS (
    -- The same test among the remaining points. A round leaves about half of them; after six
    -- rounds, including the one above, few enough remain to be compared in pairs. They are rounds
    -- instead of a join because some engines compute both sides of a join anew.
    SELECT
        slice,
        threshold,
        fp,
        tp,
        total_positives,
        total_negatives
    FROM (
        SELECT
            slice,
            threshold,
            fp,
            tp,
            total_positives,
            total_negatives,
            fp - LAG(fp) OVER (PARTITION BY slice ORDER BY fp, tp) AS right_before,
            tp - LAG(tp) OVER (PARTITION BY slice ORDER BY fp, tp) AS up_before,
            LEAD(fp) OVER (PARTITION BY slice ORDER BY fp, tp) - fp AS right_after,
            LEAD(tp) OVER (PARTITION BY slice ORDER BY fp, tp) - tp AS up_after
        FROM narrowed_by_chord
    ) AS neighbours
    WHERE
        COALESCE(CAST(up_before AS DOUBLE) / NULLIF(up_before + right_before, 0), 2e0)
        > COALESCE(CAST(up_after AS DOUBLE) / NULLIF(up_after + right_after, 0), -1e0)
)
-- The line to a vertex from any point before is steeper than the line from it to any point after.
SELECT
    here.slice,
    here.threshold,
    here.fp,
    here.tp,
    here.total_positives,
    here.total_negatives
FROM narrowed AS here
JOIN narrowed AS there USING (slice)
GROUP BY
    here.slice,
    here.threshold,
    here.fp,
    here.tp,
    here.total_positives,
    here.total_negatives
HAVING
    COALESCE(MIN(CASE
        WHEN there.fp + there.tp < here.fp + here.tp
        THEN CAST(here.tp - there.tp AS DOUBLE)
            / NULLIF(here.tp - there.tp + here.fp - there.fp, 0)
    END), 2e0)
    > COALESCE(MAX(CASE
        WHEN there.fp + there.tp > here.fp + here.tp
        THEN CAST(there.tp - here.tp AS DOUBLE)
            / NULLIF(there.tp - here.tp + there.fp - here.fp, 0)
    END), -1e0)
