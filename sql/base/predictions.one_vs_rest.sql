/*
summary: predictions of one class against the others, one row a prediction and class
*/
SELECT
    slice,
    class,
    -- TINYINT: the window functions carry the label through their sort, and its width is time.
    CAST(CASE WHEN truth = class THEN 1 ELSE 0 END AS TINYINT) AS label,
    score,
    weight
FROM (
    SELECT
        slice,
        class,
        label AS truth,
        score,
        weight
    FROM class_scores
) AS scored
