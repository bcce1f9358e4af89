/*
summary: tp, fp, fn and tn of each class against the others, with the sums of squared weights
*/
SELECT
    slice,
    class,
    matched AS tp,
    mistaken AS fp,
    missed AS fn,
    -- With real-valued weights, a sum that should be 0 differs from 0 by rounding, hence the 1e-13.
    CASE
        WHEN total - matched - mistaken - missed > 1e-13 * total
        THEN total - matched - mistaken - missed
        ELSE 0
    END AS tn,
    matched_squares AS tp_squares,
    mistaken_squares AS fp_squares,
    missed_squares AS fn_squares,
    CASE
        WHEN total - matched - mistaken - missed > 1e-13 * total
        THEN GREATEST(total_squares - matched_squares - mistaken_squares - missed_squares, 0)
        ELSE 0
    END AS tn_squares
FROM (
    SELECT
        slice,
        class,
        matched,
        mistaken,
        missed,
        matched_squares,
        mistaken_squares,
        missed_squares,
        SUM(actual) OVER (PARTITION BY slice) AS total,
        SUM(matched_squares + missed_squares) OVER (PARTITION BY slice) AS total_squares
    FROM class_counts
) AS counts
