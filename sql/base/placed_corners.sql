/*
summary: >-
  each corner of the ROC curve with its place beside the coarse hull: before the points of the hull
  in its strip (0), between them (1), or from the last of them on (2)
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
JOIN strips USING (slice, strip)
