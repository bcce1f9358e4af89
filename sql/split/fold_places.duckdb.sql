/*
summary: >-
  the same without sorting all units: where no fold can end within a part of the hashes, any place
  in it will do, and that of its first unit is taken; only the others are ranked
params:
  n_splits: series in [2, 10000] = 10
*/
SELECT
    thin.slice,
    thin.repeat,
    buckets.first_place AS place,
    buckets.units,
    buckets.units_before
FROM thin
JOIN buckets USING (part, bucket)
-- Fold j ends within k places of j / k of the units, as none is longer by more than one.
WHERE
    FLOOR(CAST((buckets.first_place - $n_splits) * $n_splits AS DOUBLE) / NULLIF(buckets.units, 0))
    = FLOOR(CAST((buckets.last_place + $n_splits) * $n_splits AS DOUBLE) / NULLIF(buckets.units, 0))
UNION ALL
SELECT
    slice,
    repeat,
    first_place + ROW_NUMBER() OVER (PARTITION BY part, bucket ORDER BY digest) - 1 AS place,
    units,
    units_before
FROM (
    SELECT
        thin.slice,
        thin.repeat,
        thin.part,
        thin.bucket,
        thin.digest,
        buckets.first_place,
        buckets.units,
        buckets.units_before
    FROM thin
    JOIN buckets USING (part, bucket)
    WHERE
        FLOOR(CAST((buckets.first_place - $n_splits) * $n_splits AS DOUBLE) / NULLIF(buckets.units, 0))
        <> FLOOR(CAST((buckets.last_place + $n_splits) * $n_splits AS DOUBLE) / NULLIF(buckets.units, 0))
) AS near
