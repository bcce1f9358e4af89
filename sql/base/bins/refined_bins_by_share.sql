/*
summary: >-
  coarse bins to resolve into single scores, so that each other bin holds at most the tolerance of
  the positives and of the negatives, and the points of a curve lie at most so far apart
params:
  tolerance: float in (0, 1) = 1e-3
*/
SELECT
    slice,
    bin
FROM coarse_cutoffs
WHERE CAST(positives AS DOUBLE) / NULLIF(total_positives, 0) > $tolerance
    OR CAST(negatives AS DOUBLE) / NULLIF(total_negatives, 0) > $tolerance
