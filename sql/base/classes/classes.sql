/*
summary: the classes that have a score
*/
SELECT
    slice,
    class,
    COUNT(*) AS n
FROM class_scores
GROUP BY
    slice,
    class
