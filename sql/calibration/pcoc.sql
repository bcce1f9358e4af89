/*
summary: >-
  predicted over observed positives: the sum of the probabilities divided by the number of positives
formula: sum(p) / sum(y)
direction: none
range: 0 .. inf
domain: "score: 0 .. 1"
interval: delta
reference: numpy.average # of the scores over that of the labels
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * p) AS DOUBLE)
        / NULLIF(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END), 0) AS value,
    -- The variance of a ratio of two means (Cochran 1977, section 2.11): the mean of (p - R y)^2,
    -- from the sums of its three terms.
    SQRT(
        GREATEST(
            SUM(weight * p_squared)
            - 2e0 * SUM(weight * p) / NULLIF(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END), 0)
                * SUM(CASE WHEN label = 1 THEN weight * p ELSE 0e0 END)
            + POWER(SUM(weight * p), 2) / NULLIF(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END), 0),
            0e0
        )
    ) / NULLIF(SUM(CASE WHEN label = 1 THEN weight ELSE 0 END), 0) AS stderr,
    -- 20 rows of a class are enough, of a count 5: they count a quarter.
    25e-2 * LEAST(
        SUM(CASE WHEN label = 1 THEN weight ELSE 0 END),
        SUM(CASE WHEN label = 0 THEN weight ELSE 0 END)
    ) AS support,
    CASE WHEN SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) = 0 THEN 'no positive labels' END AS note
FROM probabilities
GROUP BY slice
