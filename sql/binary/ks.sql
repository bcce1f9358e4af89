/*
summary: largest distance between the score distributions of positives and negatives
formula: max over thresholds of |tpr - fpr|
direction: higher
range: 0 .. 1
reference: scipy.stats.ks_2samp
aliases: [ks_statistic, kolmogorov_smirnov]
task: two classes
weights: frequency
bound: distance
units: runs
since: 0.1.0
*/
SELECT
    slice,
    MAX(ABS(
        CAST(tp AS DOUBLE) / NULLIF(total_positives, 0)
        - CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0)
    )) AS value,
    CASE
        WHEN COALESCE(SUM(positives), 0) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM cutoffs
GROUP BY slice
