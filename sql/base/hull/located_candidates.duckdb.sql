/*
summary: >-
  located_candidates by a left join, which keeps the same rows because each candidate has its strip:
  DuckDB 2.0.0 fails on the inner join of millions of candidates ("dict-surviving cache"), which
  leaves the database unusable
*/
SELECT
    hull_candidates.slice,
    hull_candidates.threshold,
    hull_candidates.fp,
    hull_candidates.tp,
    hull_candidates.total_positives,
    hull_candidates.total_negatives,
    -- 0: left of the strip's hull points, 1: between them, 2: at or right of the last one.
    CASE
        WHEN
            hull_candidates.fp >= coarse_hull.last_fp
            AND hull_candidates.tp >= coarse_hull.last_tp
        THEN 2
        WHEN
            hull_candidates.fp >= coarse_hull.first_fp
            AND hull_candidates.tp >= coarse_hull.first_tp
        THEN 1
        ELSE 0
    END AS place,
    coarse_hull.n_points,
    coarse_hull.n_points_so_far - coarse_hull.n_points AS n_points_before,
    coarse_hull.first_fp,
    coarse_hull.first_tp,
    coarse_hull.last_fp,
    coarse_hull.last_tp,
    coarse_hull.fp_before,
    coarse_hull.tp_before,
    coarse_hull.fp_after,
    coarse_hull.tp_after
FROM hull_candidates
LEFT JOIN coarse_hull USING (slice, strip)
