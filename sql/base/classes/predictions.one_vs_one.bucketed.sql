/*
summary: >-
  binary predictions of one class against one other, from the rows of both and the score of the
  first, with the bucket of this score; one row per prediction and ordered pair of classes
*/
SELECT
    slice,
    scored_class AS class,
    truth AS other,
    0 AS label,
    score,
    bucket,
    weight,
    squares,
    n_rows
FROM (
    SELECT
        slice,
        class AS scored_class,
        label AS truth,
        score,
        bucket,
        weight,
        squares,
        n_rows
    FROM class_scores
) AS scored
WHERE truth <> scored_class
UNION ALL
SELECT
    scored.slice,
    scored.scored_class AS class,
    classes.class AS other,
    1 AS label,
    scored.score,
    scored.bucket,
    scored.weight,
    scored.squares,
    scored.n_rows
FROM (
    SELECT
        slice,
        class AS scored_class,
        label AS truth,
        score,
        bucket,
        weight,
        squares,
        n_rows
    FROM class_scores
) AS scored
JOIN classes USING (slice)
WHERE scored.truth = scored.scored_class AND classes.class <> scored.scored_class
