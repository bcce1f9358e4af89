/*
summary: >-
  root mean squared distance between predicted probability and observed share of positives over
  bins, without the part that the chance in the labels of a bin adds
formula: >-
  sqrt(max(0, sum over bins of (n_b / n) ((mean p - mean y)^2 - mean y (1 - mean y) / (m_b - 1)))),
  m_b the rows of a bin, or its squared weight over the sum of squared weights; a bin with one row
  counts as 0
direction: lower
range: 0 .. 1
domain: "score: 0 .. 1"
expectation: none
reference: Kumar, Liang and Ma (2019), arXiv:1909.10155
task: two classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    SQRT(GREATEST(
        CAST(SUM(CASE
            WHEN size > 1
            THEN CAST(score_sum - positives AS DOUBLE) * (score_sum - positives) / NULLIF(n, 0)
                - CAST(positives AS DOUBLE) / NULLIF(n, 0) * (n - positives) / NULLIF(size - 1e0, 0)
            ELSE 0e0
        END) AS DOUBLE) / NULLIF(SUM(n), 0),
        0e0
    )) * CASE WHEN MAX(size) > 1 THEN 1e0 END AS value,
    CASE
        WHEN SUM(n) = 0 THEN 'total weight is 0'
        WHEN MAX(size) <= 1 THEN 'no bin has more than one row'
    END AS note
FROM (
    SELECT
        slice,
        n,
        positives,
        score_sum,
        -- A weight counts as rows only in relation to its square.
        CAST(n AS DOUBLE) * n / NULLIF(squared_weights, 0) AS size
    FROM calibration_bins
) AS bins
GROUP BY slice
