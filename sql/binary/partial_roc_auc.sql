/*
summary: >-
  area under the ROC curve up to a false positive rate, scaled so that chance is 1/2 and the best is
  1 (McClish)
formula: (1 + (A - m^2 / 2) / (m - m^2 / 2)) / 2, A the area for fpr <= m = max_fpr
direction: higher
range: 0 .. 1
params:
  max_fpr: float in (0, 1] = 0.1
reference: sklearn.metrics.roc_auc_score # max_fpr=
aliases: [partial_auc, pauc]
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    5e-1 * (
        1e0 + (
            SUM(width * (tp_above + 5e-1 * (tp - tp_above) * width / NULLIF(fp - fp_above, 0)))
                / NULLIF(CAST(MAX(total_positives) AS DOUBLE) * MAX(total_negatives), 0)
            - 5e-1 * $max_fpr * $max_fpr
        ) / NULLIF($max_fpr - 5e-1 * $max_fpr * $max_fpr, 0)
    ) AS value,
    CASE
        WHEN COALESCE(MAX(total_positives), 0) = 0 THEN 'no positive labels'
        WHEN MAX(total_negatives) = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        tp,
        fp,
        tp_above,
        fp_above,
        total_positives,
        total_negatives,
        -- The part of the step to the left of max_fpr.
        CASE WHEN fp > fp_above AND fp_above < $max_fpr * total_negatives
            THEN LEAST(CAST(fp AS DOUBLE), $max_fpr * total_negatives) - fp_above ELSE 0e0
        END AS width
    FROM segments
) AS clipped
GROUP BY slice
