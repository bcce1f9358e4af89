/*
summary: >-
  number, or total weight, of the rows at or above each unit's score, which are predicted positive
  at that threshold
*/
SELECT
    slice,
    score_low,
    score_high,
    tp + fp AS predicted_positives,
    total_positives
FROM cutoffs
