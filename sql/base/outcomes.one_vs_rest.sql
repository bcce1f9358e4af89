/*
summary: tp, fp, fn and tn of each class against the others
*/
SELECT
    slice,
    class,
    matched AS tp,
    mistaken AS fp,
    missed AS fn,
    -- With real-valued weights a sum that should be 0 is off by rounding, hence the 1e-13.
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
