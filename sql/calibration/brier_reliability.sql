/*
summary: >-
  calibration part of the Brier score: mean squared distance between each probability and the share
  of positives among its rows
formula: >-
  sum over distinct p of (n_p / n) (p - mean y)^2; Brier = reliability - resolution +
  uncertainty
direction: lower
range: 0 .. 1
domain: "score: 0 .. 1"
reference: Murphy (1973), doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2
task: two classes
weights: frequency
unbinned: always
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(
        ((positives + negatives) * CAST(score_low AS DOUBLE) - positives)
            * ((positives + negatives) * CAST(score_low AS DOUBLE) - positives)
            / NULLIF(CAST(positives + negatives AS DOUBLE), 0)
    ) AS DOUBLE) / NULLIF(SUM(positives + negatives), 0) AS value,
    CASE WHEN COALESCE(SUM(positives + negatives), 0) = 0 THEN 'total weight is 0' END AS note
FROM expected_counts
GROUP BY slice
