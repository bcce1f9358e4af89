/*
summary: Pearson's correlation of labels and predictions
formula: Cov(y, p) / sqrt(Var(y) Var(p))
direction: higher
range: -1 .. 1
interval: delta
reference: scipy.stats.pearsonr
aliases: [pearson_corr, pearsonr, correlation]
task: regression
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    -- Rounding can lead beyond 1.
    CASE
        WHEN label_variance > 0 AND prediction_variance > 0
        THEN GREATEST(
                LEAST(CAST(covariance AS DOUBLE) / NULLIF(SQRT(label_variance) * SQRT(prediction_variance), 0), 1e0),
                -1e0
            )
    END AS value,
    CASE
        WHEN label_variance = 0 THEN 'constant labels'
        WHEN prediction_variance = 0 THEN 'constant predictions'
    END AS note
FROM regression_moments
