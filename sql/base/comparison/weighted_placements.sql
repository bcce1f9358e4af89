/*
summary: >-
  the weight of the rows of the other class that each row scores above, ties counting one half, by
  the score of a model and by the score of the baseline
reference: DeLong, DeLong and Clarke-Pearson (1988), with weights
*/
-- One sort by each score, as in placements.sql.
SELECT
    slice,
    label,
    weight,
    beaten,
    CASE
        WHEN label = 1 THEN negatives_up_to - 5e-1 * negatives_tied
        ELSE positives_up_to - 5e-1 * positives_tied
    END AS baseline_beaten
FROM (
    SELECT
        slice,
        label,
        weight,
        beaten,
        SUM(negative) OVER (PARTITION BY slice ORDER BY baseline_score) AS negatives_up_to,
        SUM(negative) OVER (
            PARTITION BY slice ORDER BY baseline_score RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        ) AS negatives_tied,
        SUM(positive) OVER (PARTITION BY slice ORDER BY baseline_score) AS positives_up_to,
        SUM(positive) OVER (
            PARTITION BY slice ORDER BY baseline_score RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        ) AS positives_tied
    FROM (
        SELECT
            slice,
            label,
            weight,
            positive,
            negative,
            baseline_score,
            CASE
                WHEN label = 1 THEN negatives_up_to - 5e-1 * negatives_tied
                ELSE positives_up_to - 5e-1 * positives_tied
            END AS beaten
        FROM (
            SELECT
                slice,
                label,
                weight,
                positive,
                negative,
                baseline_score,
                SUM(negative) OVER (PARTITION BY slice ORDER BY score) AS negatives_up_to,
                SUM(negative) OVER (
                    PARTITION BY slice ORDER BY score RANGE BETWEEN CURRENT ROW AND CURRENT ROW
                ) AS negatives_tied,
                SUM(positive) OVER (PARTITION BY slice ORDER BY score) AS positives_up_to,
                SUM(positive) OVER (
                    PARTITION BY slice ORDER BY score RANGE BETWEEN CURRENT ROW AND CURRENT ROW
                ) AS positives_tied
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
        ) AS summed_by_score
    ) AS placed
) AS summed_by_baseline
