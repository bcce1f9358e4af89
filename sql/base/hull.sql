/*
summary: >-
  vertices of the upper convex hull of the ROC curve, both ends included; points are compared in
  pairs, but only the few that a coarse hull does not exclude
*/
WITH corners AS (
    -- A vertex is the end of a rise, above the line through the ends of the rises before and after
    -- it.
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
            tp - COALESCE(LAG(tp) OVER (PARTITION BY slice ORDER BY tp, fp), 0) AS up_before,
            fp - COALESCE(LAG(fp) OVER (PARTITION BY slice ORDER BY tp, fp), 0) AS right_before,
            LEAD(tp) OVER (PARTITION BY slice ORDER BY tp, fp) - tp AS up_after,
            LEAD(fp) OVER (PARTITION BY slice ORDER BY tp, fp) - fp AS right_after
        FROM segments
        WHERE
            total_positives > 0
            AND total_negatives > 0
            AND (
                tp > tp_above
                -- The end of the curve; sums of real-valued weights may be rounded.
                OR fp > fp_above AND tp + fp >= (total_positives + total_negatives) * (1e0 - 1e-13)
            )
    ) AS moves
    WHERE
        up_after IS NULL
        -- As DOUBLE: the product of two counts overflows BIGINT on other engines.
        OR CAST(up_before AS DOUBLE) * right_after > CAST(up_after AS DOUBLE) * right_before
    UNION ALL
    SELECT
        slice,
        CAST('Infinity' AS DOUBLE) AS threshold,
        0 AS fp,
        0 AS tp,
        total_positives,
        total_negatives
    FROM totals
    WHERE total_positives > 0 AND total_negatives > 0
),
highest AS (
    -- In each of 4,096 strips across the diagonal, the point farthest above the diagonal.
    SELECT
        slice,
        fp,
        tp
    FROM (
        SELECT
            slice,
            fp,
            tp,
            total_positives,
            total_negatives,
            height,
            MAX(height) OVER (PARTITION BY slice, strip) AS most
        FROM (
            SELECT
                slice,
                fp,
                tp,
                total_positives,
                total_negatives,
                CAST(tp AS DOUBLE) / NULLIF(total_positives, 0)
                    - CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0) AS height,
                FLOOR(
                    2.048e3 * tp / NULLIF(total_positives, 0)
                    + 2.048e3 * fp / NULLIF(total_negatives, 0)
                ) AS strip
            FROM corners
        ) AS placed
    ) AS compared
    WHERE height = most OR fp + tp = 0
    GROUP BY
        slice,
        fp,
        tp
),
frame AS (
    -- A vertex: the line to it from any point before is steeper than the line from it to any point
    -- after.
    SELECT
        here.slice,
        here.fp,
        here.tp
    FROM highest AS here
    JOIN highest AS there USING (slice)
    GROUP BY
        here.slice,
        here.fp,
        here.tp
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
),
chords AS (
    SELECT
        slice,
        fp AS left_fp,
        tp AS left_tp,
        LEAD(fp) OVER (PARTITION BY slice ORDER BY fp, tp) AS right_fp,
        LEAD(tp) OVER (PARTITION BY slice ORDER BY fp, tp) AS right_tp,
        ROW_NUMBER() OVER (PARTITION BY slice ORDER BY fp, tp) AS chord
    FROM frame
),
outside AS (
    -- A point below a chord of the coarse hull cannot be a vertex.
    SELECT
        numbered.slice,
        numbered.fp,
        numbered.tp,
        numbered.chord
    FROM (
        SELECT
            slice,
            is_frame,
            fp,
            tp,
            SUM(is_frame) OVER (
                PARTITION BY slice ORDER BY fp, tp, is_frame DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS chord
        FROM (
            SELECT
                slice,
                0 AS is_frame,
                fp,
                tp
            FROM corners
            UNION ALL
            SELECT
                slice,
                1 AS is_frame,
                fp,
                tp
            FROM frame
        ) AS marked
    ) AS numbered
    JOIN chords USING (slice, chord)
    WHERE
        numbered.is_frame = 0
        AND (
            chords.right_fp IS NULL
            OR (CAST(numbered.tp AS DOUBLE) - chords.left_tp) * (chords.right_fp - chords.left_fp)
                >= (CAST(chords.right_tp AS DOUBLE) - chords.left_tp)
                    * (numbered.fp - chords.left_fp)
        )
),
vertices_by_chord AS (
    -- A vertex of the hull is also a vertex among the points above its own chord.
    SELECT
        here.slice,
        here.fp,
        here.tp
    FROM outside AS here
    JOIN outside AS there USING (slice, chord)
    GROUP BY
        here.slice,
        here.fp,
        here.tp
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
),
vertices AS (
    SELECT
        here.slice,
        here.fp,
        here.tp
    FROM vertices_by_chord AS here
    JOIN vertices_by_chord AS there USING (slice)
    GROUP BY
        here.slice,
        here.fp,
        here.tp
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
    corners.slice,
    corners.threshold,
    corners.fp,
    corners.tp,
    corners.total_positives,
    corners.total_negatives
FROM corners
JOIN vertices USING (slice, fp, tp)
