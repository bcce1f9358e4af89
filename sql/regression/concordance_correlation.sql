/*
summary: how close labels and predictions lie to the line of equal values, Lin's concordance correlation
formula: 2 Cov(y, p) / (Var(y) + Var(p) + (mean(p) - mean(y))^2)
direction: higher
range: -1 .. 1
interval: delta
reference: "Lin (1989), doi:10.2307/2532051"
aliases: [ccc, concordance_corrcoef]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN label_variance > 0 OR prediction_variance > 0
        THEN 2e0 * CAST(covariance AS DOUBLE)
            / NULLIF(label_variance + prediction_variance + mean_error * mean_error, 0)
    END AS value,
    CASE
        WHEN label_variance = 0 AND prediction_variance = 0
        THEN 'constant labels and predictions'
    END AS note
FROM regression_moments
