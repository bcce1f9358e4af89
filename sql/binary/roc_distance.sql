/*
summary: distance of the point of the ROC curve at the threshold from the ideal point (0, 1)
formula: sqrt(fpr^2 + (1 - tpr)^2)
direction: lower
range: 0 .. 1.4142135623730951
reference: yardstick::roc_dist
task: two classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    SQRT(
        POWER(CAST(fp AS DOUBLE) / NULLIF(fp + tn, 0), 2)
        + POWER(CAST(fn AS DOUBLE) / NULLIF(tp + fn, 0), 2)
    ) AS value,
    CASE
        WHEN tp + fn = 0 THEN 'no positive labels'
        WHEN fp + tn = 0 THEN 'no negative labels'
    END AS note
FROM outcomes
