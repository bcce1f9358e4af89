/*
summary: error rate at the threshold where false positive and false negative rate are equal
formula: fpr where fpr = 1 - tpr, on straight lines between the points of the ROC curve
direction: lower
range: 0 .. 1
reference: sklearn.metrics.roc_curve # the crossing of fpr and 1 - tpr
aliases: [eer]
task: two classes
weights: frequency
units: runs
since: 0.2.0
*/
-- Both rates meet between the last point with fpr < 1 - tpr and the first one after it.
SELECT
    slice,
    (
        CAST(fp_before AS DOUBLE)
        + (fp_after - fp_before) * (
            (
                CAST(positives - tp_before AS DOUBLE) * negatives
                - CAST(fp_before AS DOUBLE) * positives
            ) / NULLIF(
                CAST(tp_after - tp_before AS DOUBLE) * negatives
                + CAST(fp_after - fp_before AS DOUBLE) * positives,
                0
            )
        )
    ) / NULLIF(negatives, 0) AS value,
    CASE
        WHEN COALESCE(positives, 0) = 0 THEN 'no positive labels'
        WHEN negatives = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        MAX(total_positives) AS positives,
        MAX(total_negatives) AS negatives,
        MAX(CASE WHEN is_after THEN 0 ELSE tp END) AS tp_before,
        MAX(CASE WHEN is_after THEN 0 ELSE fp END) AS fp_before,
        MIN(CASE WHEN is_after THEN tp END) AS tp_after,
        MIN(CASE WHEN is_after THEN fp END) AS fp_after
    FROM (
        SELECT
            slice,
            tp,
            fp,
            total_positives,
            total_negatives,
            CAST(fp AS DOUBLE) * total_positives
                >= CAST(total_positives - tp AS DOUBLE) * total_negatives AS is_after
        FROM cutoffs
    ) AS points
    GROUP BY slice
) AS neighbours
