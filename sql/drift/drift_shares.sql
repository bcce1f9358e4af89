/*
summary: the share of each category in the reference and in the current sample
*/
SELECT
    slice,
    category,
    CAST(reference_rows AS DOUBLE)
        / NULLIF(CAST(SUM(reference_rows) OVER (PARTITION BY slice) AS DOUBLE), 0e0)
        AS reference_share,
    CAST(current_rows AS DOUBLE)
        / NULLIF(CAST(SUM(current_rows) OVER (PARTITION BY slice) AS DOUBLE), 0e0) AS current_share
FROM drift_categories
WHERE reference_rows + current_rows > 0
