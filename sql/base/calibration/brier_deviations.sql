/*
summary: >-
  each row's squared error less its expectation if the probability is right, and the variance of
  that difference
means: [deviation, variance]
*/
SELECT
    slice,
    (label - CAST(score AS DOUBLE)) * (1e0 - 2e0 * CAST(score AS DOUBLE)) AS deviation,
    (1e0 - 2e0 * CAST(score AS DOUBLE)) * (1e0 - 2e0 * CAST(score AS DOUBLE))
        * CAST(score AS DOUBLE) * (1e0 - CAST(score AS DOUBLE)) AS variance,
    weight
FROM predictions
