/*
summary: each row's score, and the same rounded to nine significant bits, in the same order
*/
SELECT
    slice,
    label,
    score,
    -- Dekker (1971), doi:10.1007/BF01397083: what is left when the low bits have been added and
    -- taken away. The product would overflow for the largest scores, so these are as one.
    CASE
        WHEN CAST(score AS DOUBLE) > 1e290 THEN 2e290
        WHEN CAST(score AS DOUBLE) < -1e290 THEN -2e290
        ELSE 1.7592186044417e13 * score - (1.7592186044417e13 * score - score)
    END AS coarse_score
FROM predictions
