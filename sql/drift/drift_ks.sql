/*
summary: largest distance between the two cumulative distributions
formula: max over scores of |F(score) - G(score)|
range: 0 .. 1
reference: scipy.stats.ks_2samp
*/
SELECT
    slice,
    MAX(ABS(f - g)) AS drift,
    MAX(ABS(f - g)) AS low,
    -- Within a bin, all rows of either sample may come first. At the ends of a bin both
    -- distributions are exact.
    MAX(CASE
        WHEN score_low < score_high AND f > f_below AND g > g_below
            THEN GREATEST(ABS(f - g_below), ABS(f_below - g))
        ELSE ABS(f - g)
    END) AS high
FROM (
    SELECT
        slice,
        score_low,
        score_high,
        CAST(reference_below + reference_rows AS DOUBLE) / NULLIF(reference_total, 0) AS f,
        CAST(current_below + current_rows AS DOUBLE) / NULLIF(current_total, 0) AS g,
        CAST(reference_below AS DOUBLE) / NULLIF(reference_total, 0) AS f_below,
        CAST(current_below AS DOUBLE) / NULLIF(current_total, 0) AS g_below
    FROM (
        SELECT
            slice,
            score_low,
            score_high,
            reference_rows,
            current_rows,
            COALESCE(SUM(reference_rows) OVER (
                PARTITION BY slice
                ORDER BY score
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0) AS reference_below,
            COALESCE(SUM(current_rows) OVER (
                PARTITION BY slice
                ORDER BY score
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0) AS current_below
        FROM drift_score_counts
    ) AS cumulated
    INNER JOIN drift_totals USING (slice)
) AS shares
GROUP BY slice
