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
    CASE
        WHEN positives = 0 THEN 'no positive labels'
        WHEN negatives = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        losses,
        positives,
        negatives,
        -- The entropy times n is N l(N / P) + P l(P / N) with l(x) = ln(1 + x) / x. The logarithm
        -- of a share close to 1 loses digits. Instead, divide the logarithm of the rounded sum 1 +
        -- x by that sum minus 1, which loses none (Goldberg, 1991, doi:10.1145/103162.103163,
        -- theorem 4).
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
            SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS positives,
            SUM(CASE WHEN label = 0 THEN weight ELSE 0 END) AS negatives
        FROM log_losses
        GROUP BY slice
    ) AS sums
) AS entropies
