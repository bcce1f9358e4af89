/*
summary: precision and recall at each distinct score, with the end point (precision 1, recall 0)
formula: precision = tp / (tp + fp), recall = tp / P at score >= threshold
params:
  drop_intermediate: bool = false
order: threshold DESC, recall, precision DESC
reference: sklearn.metrics.precision_recall_curve
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(score_low AS DOUBLE) AS threshold,
    CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0) AS precision,
    CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS recall
FROM (
    SELECT
        slice,
        score_low,
        fp,
        tp,
        total_positives,
        LAG(tp) OVER (PARTITION BY slice ORDER BY score_low DESC) AS tp_above,
        LEAD(tp) OVER (PARTITION BY slice ORDER BY score_low DESC) AS tp_below
    FROM (
        -- By score, whatever the units are.
        SELECT
            slice,
            score_low,
            MAX(fp_at) AS fp,
            MAX(tp_at) AS tp,
            MAX(n_positives) AS total_positives
        FROM (
            SELECT
                slice,
                score_low,
                fp AS fp_at,
                tp AS tp_at,
                total_positives AS n_positives
            FROM cutoffs
        ) AS units
        GROUP BY
            slice,
            score_low
    ) AS points
) AS neighbours
-- Between points of equal recall only the first and the last carry the curve.
WHERE
    NOT $drop_intermediate
    OR tp_above IS NULL
    OR tp_below IS NULL
    OR tp_below <> tp
    OR tp <> tp_above
UNION ALL
SELECT
    slice,
    CAST('Infinity' AS DOUBLE) AS threshold,
    1e0 AS precision,
    CASE WHEN total_positives > 0 THEN 0e0 END AS recall
FROM totals
