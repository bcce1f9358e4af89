/*
summary: false and true positive rate at each distinct score, from infinity down
formula: fpr = fp / N, tpr = tp / P at score >= threshold
params:
  drop_intermediate: bool = false
order: threshold DESC, fpr, tpr
reference: sklearn.metrics.roc_curve
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(score_low AS DOUBLE) AS threshold,
    CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0) AS fpr,
    CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS tpr
FROM (
    SELECT
        slice,
        score_low,
        fp,
        tp,
        total_negatives,
        total_positives,
        LAG(fp) OVER (PARTITION BY slice ORDER BY score_low DESC) AS fp_above,
        LAG(tp) OVER (PARTITION BY slice ORDER BY score_low DESC) AS tp_above,
        LEAD(fp) OVER (PARTITION BY slice ORDER BY score_low DESC) AS fp_below,
        LEAD(tp) OVER (PARTITION BY slice ORDER BY score_low DESC) AS tp_below
    FROM (
        -- By score, whatever the units are.
        SELECT
            slice,
            score_low,
            MAX(fp_at) AS fp,
            MAX(tp_at) AS tp,
            MAX(n_negatives) AS total_negatives,
            MAX(n_positives) AS total_positives
        FROM (
            SELECT
                slice,
                score_low,
                fp AS fp_at,
                tp AS tp_at,
                total_negatives AS n_negatives,
                total_positives AS n_positives
            FROM cutoffs
        ) AS units
        GROUP BY
            slice,
            score_low
    ) AS points
) AS neighbours
-- A point on a straight line between its neighbours may go: the area stays.
WHERE
    NOT $drop_intermediate
    OR fp_above IS NULL
    OR fp_below IS NULL
    OR fp_below - fp <> fp - fp_above
    OR tp_below - tp <> tp - tp_above
UNION ALL
SELECT
    slice,
    CAST('Infinity' AS DOUBLE) AS threshold,
    CASE WHEN total_negatives > 0 THEN 0e0 END AS fpr,
    CASE WHEN total_positives > 0 THEN 0e0 END AS tpr
FROM totals
