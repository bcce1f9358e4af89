/*
summary: rows of each distinct label; a strip is the label rounded to nine significant bits
*/
SELECT
    slice,
    label,
    CASE
        WHEN ABS(label) > 1e290 THEN label
        ELSE 1.7592186044417e13 * label - (1.7592186044417e13 * label - label)
    END AS strip,
    SUM(weight) AS mass
FROM predictions
WHERE weight > 0
GROUP BY
    slice,
    label
