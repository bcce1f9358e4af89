/*
summary: share of rows whose true class is among the k classes with the highest scores
formula: >-
  mean over rows of P(rank of the true class <= k); tied scores are in every order equally often,
  while scikit-learn takes tied classes in their order
direction: higher
range: 0 .. 1
params:
  k: int in [1, inf) = 2
reference: sklearn.metrics.top_k_accuracy_score
aliases: [top_k_accuracy_score]
task: several classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(SUM(
        weight * LEAST(GREATEST(CAST($k - higher AS DOUBLE) / NULLIF(tied, 0), 0e0), 1e0)
    ) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    SUM(weight * LEAST(GREATEST(CAST($k - higher AS DOUBLE) / NULLIF(tied, 0), 0e0), 1e0))
        AS successes,
    SUM(weight) AS trials,
    SUM(squares * LEAST(GREATEST(CAST($k - higher AS DOUBLE) / NULLIF(tied, 0), 0e0), 1e0))
        AS squared_successes,
    SUM(squares) AS squared_trials,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM label_scores
GROUP BY slice
