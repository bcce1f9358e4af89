/*
summary: the mass at or above each unit's score
*/
SELECT
    slice,
    score_low,
    score_high,
    tp + fp AS reach,
    total_positives
FROM cutoffs
