/*
summary: >-
  the weight of the rows of the other class that each row scores above, ties counting one half, by
  the score of a model and by the score of the baseline
reference: DeLong, DeLong and Clarke-Pearson (1988), with weights
*/
SELECT
    slice,
    label,
    weight,
    CASE
        WHEN label = 1 THEN negatives_up_to - 5e-1 * negatives_tied
        ELSE positives_up_to - 5e-1 * positives_tied
    END AS beaten,
    CASE
        WHEN label = 1 THEN baseline_negatives_up_to - 5e-1 * baseline_negatives_tied
        ELSE baseline_positives_up_to - 5e-1 * baseline_positives_tied
    END AS baseline_beaten
FROM (
    -- With the default frame a sum holds all rows up to the same score.
    SELECT
        slice,
        label,
        weight,
        SUM(negative) OVER (PARTITION BY slice ORDER BY score) AS negatives_up_to,
        SUM(negative) OVER (PARTITION BY slice, score) AS negatives_tied,
        SUM(positive) OVER (PARTITION BY slice ORDER BY score) AS positives_up_to,
        SUM(positive) OVER (PARTITION BY slice, score) AS positives_tied,
        SUM(negative) OVER (PARTITION BY slice ORDER BY baseline_score) AS baseline_negatives_up_to,
        SUM(negative) OVER (PARTITION BY slice, baseline_score) AS baseline_negatives_tied,
        SUM(positive) OVER (PARTITION BY slice ORDER BY baseline_score) AS baseline_positives_up_to,
        SUM(positive) OVER (PARTITION BY slice, baseline_score) AS baseline_positives_tied
    FROM (
        SELECT
            slice,
            label,
            score,
            baseline_score,
            weight,
            CASE WHEN label = 1 THEN weight ELSE 0e0 END AS positive,
            CASE WHEN label = 0 THEN weight ELSE 0e0 END AS negative
        FROM pairs
    ) AS by_class
) AS summed
