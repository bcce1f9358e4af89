/*
summary: >-
  positives and negatives with their ranges of logits, the mean logit, and whether a score has no
  logit
*/
SELECT
    slice,
    SUM(positives) AS total_positives,
    SUM(negatives) AS total_negatives,
    SUM(positive_squares) AS total_positive_squares,
    SUM(negative_squares) AS total_negative_squares,
    SUM((positives + negatives) * p) AS expected,
    SUM((positives + negatives) * (1e0 - p)) AS unexpected,
    CAST(SUM((positives + negatives) * logit) AS DOUBLE)
        / NULLIF(SUM(positives + negatives), 0) AS mean_logit,
    MAX(CASE WHEN logit IS NULL THEN 1 ELSE 0 END) AS has_none,
    MIN(CASE WHEN positives > 0 THEN logit END) AS lowest_positive,
    MAX(CASE WHEN positives > 0 THEN logit END) AS highest_positive,
    MIN(CASE WHEN negatives > 0 THEN logit END) AS lowest_negative,
    MAX(CASE WHEN negatives > 0 THEN logit END) AS highest_negative
FROM logits
GROUP BY slice
