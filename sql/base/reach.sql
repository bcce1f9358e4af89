/*
summary: number of rows at or above each unit's score, or their total weight
*/
SELECT
    slice,
    score_low,
    score_high,
    tp + fp AS reach,
    total_positives
FROM cutoffs
