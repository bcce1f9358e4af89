/*
summary: >-
  calibration part of the Brier score: mean squared distance between the mean probability of a bin
  and its share of positives
formula: >-
  sum over bins of (n_b / n) (mean p - mean y)^2; without bins=, each distinct p is a bin, and Brier
  = reliability - resolution + uncertainty
direction: lower
range: 0 .. 1
domain: "score: 0 .. 1"
expectation: none
reference: Murphy (1973), doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2
task: two classes
weights: frequency
unbinned: always
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(
        CAST((score_sum - positives) * (score_sum - positives) AS DOUBLE)
            / NULLIF(positives + negatives, 0)
    ) AS DOUBLE) / NULLIF(SUM(positives + negatives), 0) AS value,
    CASE WHEN COALESCE(SUM(positives + negatives), 0) = 0 THEN 'total weight is 0' END AS note
FROM brier_bins
GROUP BY slice
