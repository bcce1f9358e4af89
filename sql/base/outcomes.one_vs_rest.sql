/*
summary: true and false positives and negatives of each class against the others
*/
SELECT
    slice,
    class,
    matched AS tp,
    mistaken AS fp,
    missed AS fn,
    -- A difference of sums of real weights is never quite 0 where it should be.
    CASE
        WHEN total - matched - mistaken - missed > 1e-13 * total
        THEN total - matched - mistaken - missed
        ELSE 0
    END AS tn
FROM (
    SELECT
        slice,
        class,
        matched,
        mistaken,
        missed,
        SUM(actual) OVER (PARTITION BY slice) AS total
    FROM class_counts
) AS counts
