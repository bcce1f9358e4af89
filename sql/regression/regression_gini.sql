/*
summary: Gini index of the labels in the order of the predictions, divided by that in their own order; ties by expectation
formula: Cov(y, rank(p)) / Cov(y, rank(y))
direction: higher
range: -1 .. 1
interval: delta
reference: "Frees, Meyers and Cummings (2011), doi:10.1198/jasa.2011.tm10506"
aliases: [normalized_gini]
task: regression
weights: frequency
unbinned: always
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN label_rank_variance > 0 AND prediction_rank_variance > 0
        THEN GREATEST(LEAST(CAST(concentration AS DOUBLE) / NULLIF(best_concentration, 0), 1e0), -1e0)
    END AS value,
    CASE
        WHEN label_rank_variance = 0 THEN 'constant labels'
        WHEN prediction_rank_variance = 0 THEN 'constant predictions'
    END AS note
FROM rank_moments
