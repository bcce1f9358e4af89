/*
summary: by prediction, the sums of ranks and labels over rows with a larger one, and half of those with an equal one
*/
-- Ranks and deviations have a mean of 0: the sum above is minus the sum up to a value.
SELECT
    slice,
    prediction,
    5e-1 * label_rank_sum - SUM(label_rank_sum) OVER (PARTITION BY slice ORDER BY prediction) AS label_ranks_above,
    5e-1 * prediction_rank_sum - SUM(prediction_rank_sum) OVER (PARTITION BY slice ORDER BY prediction)
        AS prediction_ranks_above,
    5e-1 * label_sum - SUM(label_sum) OVER (PARTITION BY slice ORDER BY prediction) AS labels_above
FROM (
    SELECT
        slice,
        prediction,
        SUM(weight * label_rank) AS label_rank_sum,
        SUM(weight * prediction_rank) AS prediction_rank_sum,
        SUM(weight * label_deviation) AS label_sum
    FROM ranked_rows
    GROUP BY
        slice,
        prediction
) AS sums
