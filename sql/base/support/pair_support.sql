/*
summary: >-
  per ordered pair of classes with scores: number of rows whose label is one of the two, or their
  total weight
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
        SUM(CASE WHEN label = class THEN weight ELSE 0 END) AS n
    FROM class_scores
    GROUP BY
        slice,
        class
) AS one
JOIN (
    SELECT
        slice,
        class,
        SUM(CASE WHEN label = class THEN weight ELSE 0 END) AS n
    FROM class_scores
    GROUP BY
        slice,
        class
) AS two USING (slice)
WHERE one.class <> two.class
