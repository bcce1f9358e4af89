/*
summary: segments within buckets; the first unit of a bucket starts from the counts above the bucket
*/
SELECT
    slice,
    bucket,
    threshold,
    -- In another order, real-valued weights add up to slightly more or less than their total. The
    -- last step is set to the total, so that curves end at 1.
    CASE WHEN summed_tp >= total_positives * (1e0 - 1e-12) THEN total_positives ELSE summed_tp END
        AS tp,
    CASE WHEN summed_fp >= total_negatives * (1e0 - 1e-12) THEN total_negatives ELSE summed_fp END
        AS fp,
    CASE
        WHEN summed_tp_above >= total_positives * (1e0 - 1e-12) THEN total_positives
        ELSE summed_tp_above
    END AS tp_above,
    CASE
        WHEN summed_fp_above >= total_negatives * (1e0 - 1e-12) THEN total_negatives
        ELSE summed_fp_above
    END AS fp_above,
    0 AS is_spread,
    tp_squares,
    fp_squares,
    tp_squares_above,
    fp_squares_above,
    total_positives,
    total_negatives
FROM (
    SELECT
        slice,
        bucket,
        CAST(score_low AS DOUBLE) AS threshold,
        tp AS summed_tp,
        fp AS summed_fp,
        COALESCE(
            LAG(tp) OVER (PARTITION BY slice, bucket ORDER BY score_low DESC), positives_above
        ) AS summed_tp_above,
        COALESCE(
            LAG(fp) OVER (PARTITION BY slice, bucket ORDER BY score_low DESC), negatives_above
        ) AS summed_fp_above,
        tp_squares,
        fp_squares,
        COALESCE(
            LAG(tp_squares) OVER (PARTITION BY slice, bucket ORDER BY score_low DESC),
            positive_squares_above
        ) AS tp_squares_above,
        COALESCE(
            LAG(fp_squares) OVER (PARTITION BY slice, bucket ORDER BY score_low DESC),
            negative_squares_above
        ) AS fp_squares_above,
        total_positives,
        total_negatives
    FROM cutoffs
) AS steps
