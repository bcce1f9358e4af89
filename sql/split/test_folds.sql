/*
summary: >-
  fold in which each unit is tested: within a stratum, fold sizes differ by at most one; the larger
  folds continue from stratum to stratum, so that the sizes over all strata differ by at most one as
  well
params:
  n_splits: series in [2, 10000] = 10
*/
SELECT
    slice,
    repeat,
    1 + CAST(turned - $n_splits * FLOOR(CAST(turned AS DOUBLE) / NULLIF($n_splits, 0)) AS BIGINT) AS fold
FROM (
    SELECT
        slice,
        repeat,
        units_before
        + CASE
            WHEN place < longer * (base + 1)
                THEN FLOOR(CAST(place AS DOUBLE) / NULLIF(base + 1, 0))
            ELSE longer + FLOOR(CAST(place - longer * (base + 1) AS DOUBLE) / NULLIF(base, 0))
        END AS turned
    FROM (
        SELECT
            slice,
            repeat,
            place,
            units_before,
            FLOOR(CAST(units AS DOUBLE) / NULLIF($n_splits, 0)) AS base,
            units - $n_splits * FLOOR(CAST(units AS DOUBLE) / NULLIF($n_splits, 0)) AS longer
        FROM fold_places
    ) AS parts
) AS placed
