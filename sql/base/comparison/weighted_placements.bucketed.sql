/*
summary: >-
  the weight of the rows of the other class that each row scores above, by both scores, in two
  levels, so that no window holds all rows
reference: DeLong, DeLong and Clarke-Pearson (1988), with weights
*/
SELECT
    pairs.slice,
    pairs.label,
    pairs.weight,
    CASE
        WHEN pairs.label = 1 THEN of_model.negatives_beaten
        ELSE of_model.positives_beaten
    END AS beaten,
    CASE
        WHEN pairs.label = 1 THEN of_baseline.negatives_beaten
        ELSE of_baseline.positives_beaten
    END AS baseline_beaten
FROM pairs
JOIN (
    SELECT
        slice,
        score,
        positives_beaten,
        negatives_beaten
    FROM score_placements
    WHERE side = 1
) AS of_model USING (slice, score)
JOIN (
    SELECT
        slice,
        score AS baseline_score,
        positives_beaten,
        negatives_beaten
    FROM score_placements
    WHERE side = 0
) AS of_baseline USING (slice, baseline_score)
