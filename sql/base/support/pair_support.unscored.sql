/*
summary: >-
  per ordered pair of classes without scores: number of rows whose label is one of the two, or
  their total weight
*/
SELECT
    one.slice,
    one.class,
    two.class AS other,
    one.n + two.n AS support
FROM (
    SELECT
        slice,
        class,
        actual AS n
    FROM class_counts
) AS one
JOIN (
    SELECT
        slice,
        class,
        actual AS n
    FROM class_counts
) AS two USING (slice)
WHERE one.class <> two.class
