/*
summary: >-
  how many rows of the other class each row scores above, by both scores, in two levels; the weight
  of a row is 1
reference: DeLong, DeLong and Clarke-Pearson (1988)
*/
SELECT
    slice,
    label,
    beaten,
    baseline_beaten
FROM weighted_placements
