/*
summary: >-
  discrimination part of the Brier score: mean squared distance between the share of positives in a
  bin and the prevalence; uncertainty minus resolution is the refinement
formula: >-
  sum over bins of (n_b / n) (mean y in the bin - mean y)^2; without bins=, each distinct p is a bin
direction: higher
range: 0 .. 0.25
domain: "score: 0 .. 1"
reference: Murphy (1973), doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(
        CAST(positives - expected AS DOUBLE) * (positives - expected)
            / NULLIF(CAST(positives + negatives AS DOUBLE), 0)
    ) AS DOUBLE) / NULLIF(SUM(positives + negatives), 0) AS value,
    CASE WHEN COALESCE(SUM(positives + negatives), 0) = 0 THEN 'total weight is 0' END AS note
FROM brier_bins
GROUP BY slice
