/*
summary: correlation of the ranks of labels and predictions; equal values have their mean rank
formula: Cov(rank(y), rank(p)) / sqrt(Var(rank(y)) Var(rank(p)))
direction: higher
range: -1 .. 1
interval: delta
reference: scipy.stats.spearmanr
aliases: [spearmanr, spearman_corr, rank_correlation]
task: regression
weights: frequency
unbinned: always
since: 0.2.0
*/
SELECT
    slice,
    -- Rounding can lead beyond 1.
    CASE
        WHEN label_rank_variance > 0 AND prediction_rank_variance > 0
        THEN GREATEST(
                LEAST(
                    CAST(rank_covariance AS DOUBLE)
                        / NULLIF(SQRT(label_rank_variance) * SQRT(prediction_rank_variance), 0),
                    1e0
                ),
                -1e0
            )
    END AS value,
    CASE
        WHEN label_rank_variance = 0 THEN 'constant labels'
        WHEN prediction_rank_variance = 0 THEN 'constant predictions'
    END AS note
FROM rank_moments
