/*
summary: >-
  relative reduction of the log loss compared with always predicting the shares of the classes;
  negative if the probabilities are worse
formula: 1 - log loss / -(sum_k q_k ln q_k), q_k the share of class k
direction: higher
range: -inf .. 1
domain: "score: 0 .. 1"
reference: sklearn.metrics.d2_log_loss_score
aliases: [d2_log_loss_score, log_loss_skill_score]
task: classes
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    1e0 - CAST(SUM(losses) AS DOUBLE) / NULLIF(
        -- As in normalized_entropy.sql, the logarithm of a share close to 1 keeps its digits.
        SUM((total - of_class) * COALESCE(
            LN(1e0 + CAST(total - of_class AS DOUBLE) / NULLIF(of_class, 0))
            / NULLIF(1e0 + CAST(total - of_class AS DOUBLE) / NULLIF(of_class, 0) - 1e0, 0),
            1e0
        )),
        0
    ) AS value,
    CASE
        WHEN SUM(of_class) = 0 THEN 'total weight is 0'
        WHEN COUNT(*) = 1 THEN 'only one class among the labels'
    END AS note
FROM (
    SELECT
        slice,
        losses,
        of_class,
        SUM(of_class) OVER (PARTITION BY slice) AS total
    FROM (
        SELECT
            slice,
            label,
            SUM(weight * loss) AS losses,
            SUM(weight) AS of_class
        FROM log_losses
        WHERE weight > 0
        GROUP BY
            slice,
            label
    ) AS classes_of_rows
) AS totalled
GROUP BY slice
