/*
summary: >-
  fold_places without sorting all units: in a bucket inside which no fold can end, every unit gets
  the bucket's first place; only the other buckets are ranked
*/
SELECT
    thin.slice,
    thin.repeat,
    buckets.first_place AS place,
    buckets.units,
    buckets.units_before
FROM thin
JOIN buckets USING (part, bucket)
WHERE buckets.whole = 1
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
    WHERE buckets.whole = 0
) AS near
