/*
summary: >-
  per distinct score, or per bin of equal width if the number of bins is set: positives, negatives,
  the sum of scores, and the positives expected at the overall prevalence
params:
  bins: int in [1, inf) = null
unbinned: bins
*/
SELECT
    slice,
    positives,
    negatives,
    (positives + negatives) * CAST(score_low AS DOUBLE) AS score_sum,
    expected
FROM expected_counts
WHERE $bins IS NULL
UNION ALL
SELECT
    slice,
    SUM(own_positives) AS positives,
    SUM(own_negatives) AS negatives,
    SUM((own_positives + own_negatives) * p) AS score_sum,
    SUM(own_expected) AS expected
FROM (
    SELECT
        slice,
        p,
        own_positives,
        own_negatives,
        own_expected,
        -- The edges are those of binned_probabilities.sql.
        CASE
            WHEN place > 0 AND p <= place * (1e0 / NULLIF(bin_count, 0)) THEN place - 1
            WHEN place + 1 < bin_count AND p > (place + 1) * (1e0 / NULLIF(bin_count, 0)) THEN place + 1
            ELSE place
        END AS number
    FROM (
        SELECT
            slice,
            CAST(score_low AS DOUBLE) AS p,
            positives AS own_positives,
            negatives AS own_negatives,
            expected AS own_expected,
            CAST($bins AS DOUBLE) AS bin_count,
            LEAST(
                GREATEST(CEIL(CAST(score_low AS DOUBLE) * CAST($bins AS DOUBLE)) - 1e0, 0e0),
                CAST($bins AS DOUBLE) - 1e0
            ) AS place
        FROM expected_counts
        WHERE $bins IS NOT NULL
    ) AS placed
) AS numbered
GROUP BY
    slice,
    number
