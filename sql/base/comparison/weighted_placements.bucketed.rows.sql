/*
summary: >-
  the weight of the rows of the other class that each row scores above, by both scores, in two
  levels, with one unit per row; rows are sent to another task once per score
reference: DeLong, DeLong and Clarke-Pearson (1988), with weights
*/
-- As in weighted_placements.sql, within buckets.
SELECT
    slice,
    label,
    weight,
    beaten,
    CASE
        WHEN label = 1 THEN negatives_below + negatives_up_to - 5e-1 * negatives_tied
        ELSE positives_below + positives_up_to - 5e-1 * positives_tied
    END AS baseline_beaten
FROM (
    SELECT
        placed.slice,
        placed.label,
        placed.weight,
        placed.beaten,
        below_baseline.positives_below,
        below_baseline.negatives_below,
        SUM(placed.negative) OVER (
            PARTITION BY placed.slice, placed.baseline_bucket ORDER BY placed.baseline_score
        ) AS negatives_up_to,
        SUM(placed.negative) OVER (
            PARTITION BY placed.slice, placed.baseline_bucket ORDER BY placed.baseline_score
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        ) AS negatives_tied,
        SUM(placed.positive) OVER (
            PARTITION BY placed.slice, placed.baseline_bucket ORDER BY placed.baseline_score
        ) AS positives_up_to,
        SUM(placed.positive) OVER (
            PARTITION BY placed.slice, placed.baseline_bucket ORDER BY placed.baseline_score
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        ) AS positives_tied
    FROM (
        SELECT
            slice,
            label,
            weight,
            positive,
            negative,
            baseline_score,
            baseline_bucket,
            CASE
                WHEN label = 1 THEN negatives_below + negatives_up_to - 5e-1 * negatives_tied
                ELSE positives_below + positives_up_to - 5e-1 * positives_tied
            END AS beaten
        FROM (
            SELECT
                by_class.slice,
                by_class.label,
                by_class.weight,
                by_class.positive,
                by_class.negative,
                by_class.baseline_score,
                by_class.baseline_bucket,
                below_model.positives_below,
                below_model.negatives_below,
                SUM(by_class.negative) OVER (
                    PARTITION BY by_class.slice, by_class.bucket ORDER BY by_class.score
                ) AS negatives_up_to,
                SUM(by_class.negative) OVER (
                    PARTITION BY by_class.slice, by_class.bucket ORDER BY by_class.score
                    RANGE BETWEEN CURRENT ROW AND CURRENT ROW
                ) AS negatives_tied,
                SUM(by_class.positive) OVER (
                    PARTITION BY by_class.slice, by_class.bucket ORDER BY by_class.score
                ) AS positives_up_to,
                SUM(by_class.positive) OVER (
                    PARTITION BY by_class.slice, by_class.bucket ORDER BY by_class.score
                    RANGE BETWEEN CURRENT ROW AND CURRENT ROW
                ) AS positives_tied
            FROM (
                SELECT
                    slice,
                    label,
                    score,
                    bucket,
                    baseline_score,
                    baseline_bucket,
                    weight,
                    CASE WHEN label = 1 THEN weight ELSE 0 END AS positive,
                    CASE WHEN label = 0 THEN weight ELSE 0 END AS negative
                FROM pairs
            ) AS by_class
            JOIN (
                SELECT
                    slice,
                    bucket,
                    positives_below,
                    negatives_below
                FROM pair_buckets
                WHERE side = 1
            ) AS below_model USING (slice, bucket)
        ) AS summed_by_score
    ) AS placed
    JOIN (
        SELECT
            slice,
            bucket AS baseline_bucket,
            positives_below,
            negatives_below
        FROM pair_buckets
        WHERE side = 0
    ) AS below_baseline USING (slice, baseline_bucket)
) AS summed_by_baseline
