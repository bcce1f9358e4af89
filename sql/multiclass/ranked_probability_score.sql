/*
summary: >-
  mean squared distance between the cumulative probabilities of ordered classes and the label; a
  probability far from the true class costs more than one beside it
formula: >-
  mean over rows of sum_{k < K} (p_1 + ... + p_k - [y <= k])^2 / (K - 1), classes in the order of
  score=; with normalize=false without the divisor
direction: lower
range: 0 .. inf
domain: "score: 0 .. 1"
params:
  normalize: bool = true
reference: Epstein (1969), doi:10.1175/1520-0450(1969)008<0985:ASSFPF>2.0.CO;2
aliases: [rps]
task: several classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(SUM(weight * (reached - is_reached) * (reached - is_reached)) AS DOUBLE)
        / NULLIF(
            CASE WHEN $normalize THEN 1e0 ELSE 1e0 / NULLIF(MAX(n_classes) - 1e0, 0) END
            * SUM(weight),
            0
        ) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM cumulative_scores
GROUP BY slice
