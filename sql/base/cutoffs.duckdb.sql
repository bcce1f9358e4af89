/*
summary: >-
  cutoffs with one row a unit; two counts whose default frames include ties give every row
  tp and fp at its own score, faster than grouping when scores are distinct
when: unweighted rows
*/
SELECT
    slice,
    score AS score_low,
    score AS score_high,
    label AS positives,
    1 - label AS negatives,
    CASE WHEN label = 1 THEN n_own ELSE n_all - n_own END AS tp,
    CASE WHEN label = 1 THEN n_all - n_own ELSE n_own END AS fp,
    total_positives,
    total_negatives
FROM (
    SELECT
        slice,
        label,
        score,
        COUNT(*) OVER (PARTITION BY slice ORDER BY score DESC) AS n_all,
        COUNT(*) OVER (PARTITION BY slice, label ORDER BY score DESC) AS n_own
    FROM predictions
) AS counted
JOIN totals USING (slice)
