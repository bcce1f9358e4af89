/*
summary: >-
  vertices of the upper convex hull of the ROC curve, both ends included; points are compared in
  pairs, but only the few that a coarse hull does not exclude
*/
-- Each step is read as seldom as possible: some engines compute it anew for each of its readers.
WITH highest AS (
    -- In each strip, the point farthest above the diagonal.
    SELECT
        slice,
        strip,
        fp,
        tp
    FROM (
        SELECT
            slice,
            strip,
            fp,
            tp,
            height,
            MAX(height) OVER (PARTITION BY slice, strip) AS most
        FROM corners
    ) AS compared
    WHERE height = most OR fp + tp = 0
    GROUP BY
        slice,
        strip,
        fp,
        tp
),
strips AS (
    -- Of the vertices among these points: the first and the last in each strip, the last before it
    -- and the first after it.
    SELECT
        slice,
        strip,
        n_vertices,
        first_fp,
        first_tp,
        last_fp,
        last_tp,
        LAG(reached_fp) OVER (PARTITION BY slice ORDER BY strip) AS fp_before,
        LAG(reached_tp) OVER (PARTITION BY slice ORDER BY strip) AS tp_before,
        LEAD(coming_fp) OVER (PARTITION BY slice ORDER BY strip) AS fp_after,
        LEAD(coming_tp) OVER (PARTITION BY slice ORDER BY strip) AS tp_after,
        n_vertices_so_far
    FROM (
        SELECT
            slice,
            strip,
            n_vertices,
            first_fp,
            first_tp,
            last_fp,
            last_tp,
            MAX(last_fp) OVER (
                PARTITION BY slice ORDER BY strip
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS reached_fp,
            MAX(last_tp) OVER (
                PARTITION BY slice ORDER BY strip
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS reached_tp,
            MIN(first_fp) OVER (
                PARTITION BY slice ORDER BY strip DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS coming_fp,
            MIN(first_tp) OVER (
                PARTITION BY slice ORDER BY strip DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS coming_tp,
            SUM(n_vertices) OVER (
                PARTITION BY slice ORDER BY strip
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS n_vertices_so_far
        FROM (
            SELECT
                slice,
                strip,
                SUM(is_vertex) AS n_vertices,
                MIN(CASE WHEN is_vertex = 1 THEN fp END) AS first_fp,
                MIN(CASE WHEN is_vertex = 1 THEN tp END) AS first_tp,
                MAX(CASE WHEN is_vertex = 1 THEN fp END) AS last_fp,
                MAX(CASE WHEN is_vertex = 1 THEN tp END) AS last_tp
            FROM (
                -- The line to a vertex from any point before is steeper than the line from it to
                -- any point after.
                SELECT
                    here.slice,
                    here.strip,
                    here.fp,
                    here.tp,
                    CASE
                        WHEN
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
                        THEN 1
                        ELSE 0
                    END AS is_vertex
                FROM highest AS here
                JOIN highest AS there USING (slice)
                GROUP BY
                    here.slice,
                    here.strip,
                    here.fp,
                    here.tp
            ) AS compared
            GROUP BY
                slice,
                strip
        ) AS grouped
    ) AS counted
),
outside AS (
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
        FROM (
            SELECT
                corners.slice,
                corners.threshold,
                corners.fp,
                corners.tp,
                corners.total_positives,
                corners.total_negatives,
                -- Before the vertices of its strip, between them, or from the last of them on.
                CASE
                    WHEN corners.fp >= strips.last_fp AND corners.tp >= strips.last_tp THEN 2
                    WHEN corners.fp >= strips.first_fp AND corners.tp >= strips.first_tp THEN 1
                    ELSE 0
                END AS place,
                strips.n_vertices,
                strips.n_vertices_so_far - strips.n_vertices AS n_vertices_before,
                strips.first_fp,
                strips.first_tp,
                strips.last_fp,
                strips.last_tp,
                strips.fp_before,
                strips.tp_before,
                strips.fp_after,
                strips.tp_after
            FROM corners
            JOIN strips USING (slice, strip)
        ) AS placed
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
