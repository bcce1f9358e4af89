/*
summary: by label, the sums of ranks and labels over rows with a larger one, and half of those with an equal one
*/
-- Ranks and deviations have a mean of 0: the sum above is minus the sum up to a value.
SELECT
    slice,
    label,
    5e-1 * label_rank_sum - SUM(label_rank_sum) OVER (PARTITION BY slice ORDER BY label) AS label_ranks_above,
    5e-1 * prediction_rank_sum - SUM(prediction_rank_sum) OVER (PARTITION BY slice ORDER BY label)
        AS prediction_ranks_above,
    5e-1 * label_sum - SUM(label_sum) OVER (PARTITION BY slice ORDER BY label) AS labels_above
FROM (
    SELECT
        slice,
        label,
        SUM(weight * label_rank) AS label_rank_sum,
        SUM(weight * prediction_rank) AS prediction_rank_sum,
        SUM(weight * label_deviation) AS label_sum
    FROM ranked_rows
    GROUP BY
        slice,
        label
) AS sums
