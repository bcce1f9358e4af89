/*
summary: >-
  a coarse hull of the ROC curve, made of the highest candidate of each strip: the first and the
  last point in a strip, the last before the strip and the first after it
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
        FROM hull_candidates
    ) AS compared
    WHERE height = most OR fp + tp = 0
    GROUP BY
        slice,
        strip,
        fp,
        tp
),
bends AS (
    -- A point below the line through the points before and after it is not a vertex. This removes
    -- about half of the points.
    SELECT
        slice,
        strip,
        fp,
        tp,
        CASE
            WHEN up_before IS NULL OR up_after IS NULL THEN 1
            WHEN
                CAST(up_before AS DOUBLE) / NULLIF(up_before + right_before, 0)
                > CAST(up_after AS DOUBLE) / NULLIF(up_after + right_after, 0)
            THEN 1
            ELSE 0
        END AS is_bend
    FROM (
        SELECT
            slice,
            strip,
            fp,
            tp,
            fp - LAG(fp) OVER (PARTITION BY slice ORDER BY fp, tp) AS right_before,
            tp - LAG(tp) OVER (PARTITION BY slice ORDER BY fp, tp) AS up_before,
            LEAD(fp) OVER (PARTITION BY slice ORDER BY fp, tp) - fp AS right_after,
            LEAD(tp) OVER (PARTITION BY slice ORDER BY fp, tp) - tp AS up_after
        FROM highest
    ) AS neighbours
),
candidates AS (
    -- The same test among the remaining points.
    SELECT
        slice,
        strip,
        fp,
        tp,
        CASE
            WHEN is_bend = 0 THEN 0
            WHEN up_before IS NULL OR up_after IS NULL THEN 1
            WHEN
                CAST(up_before AS DOUBLE) / NULLIF(up_before + right_before, 0)
                > CAST(up_after AS DOUBLE) / NULLIF(up_after + right_after, 0)
            THEN 1
            ELSE 0
        END AS is_candidate
    FROM (
        SELECT
            slice,
            strip,
            fp,
            tp,
            is_bend,
            fp - LAG(reached_fp) OVER (PARTITION BY slice ORDER BY fp, tp) AS right_before,
            tp - LAG(reached_tp) OVER (PARTITION BY slice ORDER BY fp, tp) AS up_before,
            LEAD(coming_fp) OVER (PARTITION BY slice ORDER BY fp, tp) - fp AS right_after,
            LEAD(coming_tp) OVER (PARTITION BY slice ORDER BY fp, tp) - tp AS up_after
        FROM (
            SELECT
                slice,
                strip,
                fp,
                tp,
                is_bend,
                MAX(CASE WHEN is_bend = 1 THEN fp END) OVER (
                    PARTITION BY slice ORDER BY fp, tp
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) AS reached_fp,
                MAX(CASE WHEN is_bend = 1 THEN tp END) OVER (
                    PARTITION BY slice ORDER BY fp, tp
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) AS reached_tp,
                MIN(CASE WHEN is_bend = 1 THEN fp END) OVER (
                    PARTITION BY slice ORDER BY fp DESC, tp DESC
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) AS coming_fp,
                MIN(CASE WHEN is_bend = 1 THEN tp END) OVER (
                    PARTITION BY slice ORDER BY fp DESC, tp DESC
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) AS coming_tp
            FROM bends
        ) AS reached
    ) AS neighbours
)
SELECT
    slice,
    strip,
    n_points,
    first_fp,
    first_tp,
    last_fp,
    last_tp,
    LAG(reached_fp) OVER (PARTITION BY slice ORDER BY strip) AS fp_before,
    LAG(reached_tp) OVER (PARTITION BY slice ORDER BY strip) AS tp_before,
    LEAD(coming_fp) OVER (PARTITION BY slice ORDER BY strip) AS fp_after,
    LEAD(coming_tp) OVER (PARTITION BY slice ORDER BY strip) AS tp_after,
    n_points_so_far
FROM (
    SELECT
        slice,
        strip,
        n_points,
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
        SUM(n_points) OVER (
            PARTITION BY slice ORDER BY strip
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_points_so_far
    FROM (
        SELECT
            slice,
            strip,
            SUM(is_candidate) AS n_points,
            MIN(CASE WHEN is_candidate = 1 THEN fp END) AS first_fp,
            MIN(CASE WHEN is_candidate = 1 THEN tp END) AS first_tp,
            MAX(CASE WHEN is_candidate = 1 THEN fp END) AS last_fp,
            MAX(CASE WHEN is_candidate = 1 THEN tp END) AS last_tp
        FROM candidates
        GROUP BY
            slice,
            strip
    ) AS grouped
) AS counted
