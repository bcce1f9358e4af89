/*
summary: >-
  Spiegelhalter's test of calibration: the Brier score less its expectation, in standard errors;
  beyond -1.96 .. 1.96 the probabilities are not calibrated (5 %)
formula: >-
  sum w (y - p)(1 - 2 p) / sqrt(sum w^2 (1 - 2 p)^2 p (1 - p)); the p-value is 2 (1 - Phi(|z|))
direction: none
range: "-inf .. inf"
domain: "score: 0 .. 1"
expectation: none
reference: Spiegelhalter (1986), doi:10.1002/sim.4780050506
task: two classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    -- Scores outside 0 .. 1, which are refused later, could have a negative variance.
    CAST(SUM(weight * deviation) AS DOUBLE) / NULLIF(SQRT(GREATEST(SUM(weight * variance), 0e0)), 0) AS value,
    CASE
        WHEN SUM(weight) = 0 THEN 'total weight is 0'
        WHEN SUM(weight * variance) = 0 THEN 'every probability is 0, 0.5 or 1'
    END AS note
FROM brier_deviations
GROUP BY slice
