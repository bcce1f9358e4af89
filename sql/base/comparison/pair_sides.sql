/*
summary: the rows by the score of a model (side 1), and by the score of the baseline (side 0)
*/
SELECT
    slice,
    1 AS side,
    bucket,
    score,
    label,
    weight
FROM pairs
UNION ALL
SELECT
    slice,
    0 AS side,
    baseline_bucket AS bucket,
    baseline_score AS score,
    label,
    weight
FROM pairs
