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
    weight,
    squares,
    n_rows
FROM (
    SELECT
        slice,
        class,
        label AS truth,
        score,
        bucket,
        weight,
        squares,
        n_rows
    FROM class_scores
) AS scored
