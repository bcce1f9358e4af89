/*
summary: >-
  number of rows at or above each unit's score, which are predicted positive there, or their weight
*/
SELECT
    slice,
    score_low,
    score_high,
    tp + fp AS predicted_positives,
    total_positives
FROM cutoffs
