/*
summary: >-
  placed_corners by a left join, which keeps the same rows, as each corner has its strip: DuckDB
  2.0.0 fails on the inner join of millions of corners ("dict-surviving cache"), and its database
  cannot be used any more
*/
SELECT
    corners.slice,
    corners.threshold,
    corners.fp,
    corners.tp,
    corners.total_positives,
    corners.total_negatives,
    -- Before the hull's points in its strip, between them, or from the last of them on.
    CASE
        WHEN corners.fp >= strips.last_fp AND corners.tp >= strips.last_tp THEN 2
        WHEN corners.fp >= strips.first_fp AND corners.tp >= strips.first_tp THEN 1
        ELSE 0
    END AS place,
    strips.n_points,
    strips.n_points_so_far - strips.n_points AS n_points_before,
    strips.first_fp,
    strips.first_tp,
    strips.last_fp,
    strips.last_tp,
    strips.fp_before,
    strips.tp_before,
    strips.fp_after,
    strips.tp_after
FROM corners
LEFT JOIN strips USING (slice, strip)
