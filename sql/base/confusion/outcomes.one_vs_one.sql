/*
summary: >-
  tp, fp, fn and tn of each ordered pair of classes, from the rows whose label and prediction both
  belong to the pair, with the sums of squared weights
*/
SELECT
    slice,
    class,
    other,
    SUM(n_tp) AS tp,
    SUM(n_fp) AS fp,
    SUM(n_fn) AS fn,
    SUM(n_tn) AS tn,
    SUM(squares_tp) AS tp_squares,
    SUM(squares_fp) AS fp_squares,
    SUM(squares_fn) AS fn_squares,
    SUM(squares_tn) AS tn_squares
FROM (
    SELECT
        one.slice,
        one.class,
        two.class AS other,
        one.matched AS n_tp,
        0 AS n_fp,
        0 AS n_fn,
        two.matched AS n_tn,
        one.matched_squares AS squares_tp,
        0 AS squares_fp,
        0 AS squares_fn,
        two.matched_squares AS squares_tn
    FROM class_counts AS one
    JOIN class_counts AS two USING (slice)
    WHERE one.class <> two.class
    UNION ALL
    SELECT
        slice,
        label AS class,
        prediction AS other,
        0 AS n_tp,
        0 AS n_fp,
        n AS n_fn,
        0 AS n_tn,
        0 AS squares_tp,
        0 AS squares_fp,
        n_squares AS squares_fn,
        0 AS squares_tn
    FROM decision_counts
    WHERE label <> prediction
    UNION ALL
    SELECT
        slice,
        prediction AS class,
        label AS other,
        0 AS n_tp,
        n AS n_fp,
        0 AS n_fn,
        0 AS n_tn,
        0 AS squares_tp,
        n_squares AS squares_fp,
        0 AS squares_fn,
        0 AS squares_tn
    FROM decision_counts
    WHERE label <> prediction
) AS cells
GROUP BY
    slice,
    class,
    other
