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
SELECT
    slice,
    -- Each row is a line from (fp - negatives, tp - positives) to (fp, tp). Lines before the
    -- crossing end below its false positive rate, so that the largest end is the crossing.
    CAST(MAX(CASE
        WHEN CAST(fp - negatives AS DOUBLE) * total_positives
            <= CAST(total_positives - tp + positives AS DOUBLE) * total_negatives
            THEN fp - negatives + negatives * LEAST(
                1e0,
                (
                    CAST(total_positives - tp + positives AS DOUBLE) * total_negatives
                    - CAST(fp - negatives AS DOUBLE) * total_positives
                ) / NULLIF(
                    CAST(negatives AS DOUBLE) * total_positives
                    + CAST(positives AS DOUBLE) * total_negatives,
                    0
                )
            )
    END) AS DOUBLE) / NULLIF(MAX(total_negatives), 0) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM cutoffs
GROUP BY slice
