/*
summary: ROC AUC as the area under the curve, by trapezoids between distinct scores
formula: sum over thresholds of (fpr_i - fpr_(i-1)) (tpr_i + tpr_(i-1)) / 2
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    5e-1 * SUM((fp - COALESCE(fp_above, 0)) * (CAST(tp AS DOUBLE) + COALESCE(tp_above, 0)))
        / NULLIF(CAST(MAX(tp) AS DOUBLE) * MAX(fp), 0) AS value,
    CASE
        WHEN COALESCE(MAX(tp), 0) = 0 THEN 'no positive labels'
        WHEN MAX(fp) = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        tp,
        fp,
        LAG(tp) OVER (PARTITION BY slice ORDER BY score_low DESC) AS tp_above,
        LAG(fp) OVER (PARTITION BY slice ORDER BY score_low DESC) AS fp_above
    FROM (
        SELECT
            slice,
            score_low,
            MAX(tp_at) AS tp,
            MAX(fp_at) AS fp
        FROM (
            SELECT
                slice,
                score_low,
                tp AS tp_at,
                fp AS fp_at
            FROM cutoffs
        ) AS units
        GROUP BY
            slice,
            score_low
    ) AS points
) AS steps
GROUP BY slice
