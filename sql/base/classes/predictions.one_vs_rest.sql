/*
summary: binary predictions of each class against the others, one row per prediction and class
*/
SELECT
    slice,
    class,
    -- TINYINT: the window functions carry the label through their sort, which is faster with fewer
    -- bytes.
    CAST(CASE WHEN truth = class THEN 1 ELSE 0 END AS TINYINT) AS label,
    score,
    weight,
    squares,
    n_rows
FROM (
    SELECT
        slice,
        class,
        label AS truth,
        score,
        weight,
        squares,
        n_rows
    FROM class_scores
) AS scored
