/*
summary: log loss divided by the log loss of always predicting the prevalence
formula: log loss / -(p ln p + (1 - p) ln(1 - p)), p the share of positives
direction: lower
range: 0 .. inf
domain: "score: 0 .. 1"
interval: delta
reference: sklearn.metrics.d2_log_loss_score # 1 - d2
aliases: [normalized_cross_entropy]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(losses AS DOUBLE) / NULLIF(entropy, 0) AS value,
    -- Delta method: a row adds its loss and, if it is positive, changes the entropy of the labels
    -- by slope. The variance is that of loss - slope y; rounding is subtracted, as it is 0 where
    -- every probability is the prevalence.
    SQRT(
        GREATEST(
            (1e0 - 1e-13) * squares
            - 2e0 * slope * positive_losses
            + slope * slope * positives
            - POWER(losses - slope * positives, 2) / NULLIF(CAST(total AS DOUBLE), 0),
            0e0
        )
    ) / NULLIF(entropy, 0) AS stderr,
    -- 20 rows of a class are enough, of a count 5: they count a quarter.
    25e-2 * LEAST(positives, negatives) AS support,
    CASE
        WHEN positives = 0 THEN 'no positive labels'
        WHEN negatives = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        losses,
        squares,
        positive_losses,
        positives,
        negatives,
        positives + negatives AS total,
        entropy,
        LN(CAST(negatives AS DOUBLE) / NULLIF(positives, 0)) * losses / NULLIF(entropy, 0) AS slope
    FROM (
        SELECT
            slice,
            losses,
            squares,
            positive_losses,
            positives,
            negatives,
            -- normalized_entropy.sql explains it.
            NULLIF(negatives, 0) * COALESCE(
                LN(1e0 + CAST(negatives AS DOUBLE) / NULLIF(positives, 0))
                / NULLIF(1e0 + CAST(negatives AS DOUBLE) / NULLIF(positives, 0) - 1e0, 0),
                1e0
            )
            + NULLIF(positives, 0) * COALESCE(
                LN(1e0 + CAST(positives AS DOUBLE) / NULLIF(negatives, 0))
                / NULLIF(1e0 + CAST(positives AS DOUBLE) / NULLIF(negatives, 0) - 1e0, 0),
                1e0
            ) AS entropy
        FROM (
            SELECT
                slice,
                SUM(weight * loss) AS losses,
                SUM(weight * (loss * loss + loss_variance)) AS squares,
                SUM(CASE WHEN label = 1 THEN weight * loss ELSE 0e0 END) AS positive_losses,
                SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS positives,
                SUM(CASE WHEN label = 0 THEN weight ELSE 0 END) AS negatives
            FROM log_losses
            GROUP BY slice
        ) AS sums
    ) AS entropies
) AS slopes
