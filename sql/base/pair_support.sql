/*
summary: how often either class of an ordered pair is true
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
