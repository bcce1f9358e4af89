/*
summary: >-
  vertices of the upper convex hull of the ROC curve, both ends included; points are compared in
  pairs, but only the few that a coarse hull does not exclude
*/
WITH outside AS (
    -- A point below a chord of this coarse hull cannot be a vertex.
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
            n_vertices_before + CASE place WHEN 2 THEN n_vertices ELSE place END AS chord,
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
        FROM placed_corners
    ) AS compared
    WHERE
        right_fp IS NULL
        OR (CAST(tp AS DOUBLE) - left_tp) * (right_fp - left_fp)
            >= (CAST(right_tp AS DOUBLE) - left_tp) * (fp - left_fp)
),
vertices_by_chord AS (
    -- A vertex of the hull is also a vertex among the points above its own chord.
    SELECT
        here.slice,
        here.threshold,
        here.fp,
        here.tp,
        here.total_positives,
        here.total_negatives
    FROM outside AS here
    JOIN outside AS there USING (slice, chord)
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
)
SELECT
    here.slice,
    here.threshold,
    here.fp,
    here.tp,
    here.total_positives,
    here.total_negatives
FROM vertices_by_chord AS here
JOIN vertices_by_chord AS there USING (slice)
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
