/*
summary: >-
  binary predictions of each class against the others, with the bucket of their score
*/
SELECT
    slice,
    class,
    CAST(CASE WHEN truth = class THEN 1 ELSE 0 END AS TINYINT) AS label,
    score,
    bucket,
    weight
FROM (
    SELECT
        slice,
        class,
        label AS truth,
        score,
        bucket,
        weight
    FROM class_scores
) AS scored
