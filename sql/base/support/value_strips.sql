/*
summary: value_counts without values of total weight 0; a strip is the value rounded to nine significant bits
*/
SELECT
    slice,
    amount,
    -- As in prediction_counts.sql.
    CASE
        WHEN ABS(amount) > 1e290 THEN amount
        ELSE 1.7592186044417e13 * amount - (1.7592186044417e13 * amount - amount)
    END AS strip,
    n
FROM value_counts
WHERE n > 0
