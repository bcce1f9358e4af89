/*
summary: >-
  expected and observed positives in bins of equal mass (deciles by default), and their ratio with
  limits
formula: >-
  expected = sum of p, ratio = expected / observed, limits from Wilson's of the observed share at z
  standard errors (95 % by default); bins as in calibration_curve; weights count as rows
params:
  z: float in (0, inf) = 1.959963984540054
domain: "score: 0 .. 1"
order: bin
expectation: none
reference: Wilson (1927), doi:10.1080/01621459.1927.10502953
aliases: [calibration_table]
task: two classes
types: {bin: integer, n: count, observed: count}
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(number + 1 AS BIGINT) AS bin,
    n,
    positives AS observed,
    score_sum AS expected,
    CAST(score_sum AS DOUBLE) / NULLIF(positives, 0) AS ratio,
    CAST(score_sum AS DOUBLE) * (1e0 + CAST($z * $z AS DOUBLE) / NULLIF(n, 0)) / NULLIF(
        positives + 5e-1 * $z * $z
        + $z * SQRT(
            CAST(positives AS DOUBLE) / NULLIF(n, 0) * (n - positives) + 25e-2 * $z * $z
        ),
        0
    ) AS ratio_low,
    CASE
        WHEN positives > 0
        THEN CAST(score_sum AS DOUBLE) * (1e0 + CAST($z * $z AS DOUBLE) / NULLIF(n, 0)) / NULLIF(
            positives + 5e-1 * $z * $z
            - $z * SQRT(
                CAST(positives AS DOUBLE) / NULLIF(n, 0) * (n - positives) + 25e-2 * $z * $z
            ),
            0
        )
    END AS ratio_high
FROM quantile_bins
WHERE n > 0
