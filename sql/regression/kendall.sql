/*
summary: Kendall's tau-b, concordant less discordant pairs of rows as a share of those without ties
formula: (concordant - discordant) / sqrt(pairs with different y * pairs with different p)
direction: higher
range: -1 .. 1
interval: delta
reference: scipy.stats.kendalltau
aliases: [kendalltau, kendall_tau, tau_b]
task: regression
weights: frequency
unbinned: always
cost: n log^2 n
since: 0.2.0
*/
SELECT
    slice,
    -- Rounding can lead beyond 1.
    CASE
        WHEN label_pairs > 0 AND prediction_pairs > 0
        THEN GREATEST(
                LEAST(
                    CAST(net_pairs AS DOUBLE) / NULLIF(SQRT(label_pairs) * SQRT(prediction_pairs), 0),
                    1e0
                ),
                -1e0
            )
    END AS value,
    CASE
        WHEN label_pairs = 0 THEN 'constant labels'
        WHEN prediction_pairs = 0 THEN 'constant predictions'
    END AS note
FROM pair_counts
