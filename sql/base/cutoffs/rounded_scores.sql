/*
summary: each row's score, and the score rounded to nine significant bits, which keeps the order
*/
SELECT
    slice,
    label,
    score,
    -- Splitting by Dekker (1971), doi:10.1007/BF01397083: adding and subtracting a large multiple
    -- of the score rounds its low bits off. The multiple overflows for the largest scores, so they
    -- share a value.
    CASE
        WHEN CAST(score AS DOUBLE) > 1e290 THEN 2e290
        WHEN CAST(score AS DOUBLE) < -1e290 THEN -2e290
        ELSE 1.7592186044417e13 * score - (1.7592186044417e13 * score - score)
    END AS coarse_score
FROM predictions
