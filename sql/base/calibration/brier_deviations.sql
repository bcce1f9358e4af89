/*
summary: >-
  each row's squared error less its expectation if the probability is right, and the variance of
  the weighted difference, in units of the weight
means: [deviation, variance]
*/
SELECT
    slice,
    (label - CAST(score AS DOUBLE)) * (1e0 - 2e0 * CAST(score AS DOUBLE)) AS deviation,
    (1e0 - 2e0 * CAST(score AS DOUBLE)) * (1e0 - 2e0 * CAST(score AS DOUBLE))
        * CAST(score AS DOUBLE) * (1e0 - CAST(score AS DOUBLE))
        * (CAST(squares AS DOUBLE) / NULLIF(weight, 0)) AS variance,
    weight
FROM predictions
