/*
summary: by prediction, the sums of ranks and labels over rows with a larger one, and half of those with an equal one
*/
-- Ranks and deviations have a mean of 0: the sum above is minus the sum up to a value, which is the
-- sum of the strips before and the sum within the strip.
SELECT
    sums.slice,
    sums.prediction,
    5e-1 * sums.label_rank_sum - strips.label_ranks_before - SUM(sums.label_rank_sum) OVER (
        PARTITION BY sums.slice, sums.strip ORDER BY sums.prediction
    ) AS label_ranks_above,
    5e-1 * sums.prediction_rank_sum - strips.prediction_ranks_before - SUM(sums.prediction_rank_sum) OVER (
        PARTITION BY sums.slice, sums.strip ORDER BY sums.prediction
    ) AS prediction_ranks_above,
    5e-1 * sums.label_sum - strips.labels_before - SUM(sums.label_sum) OVER (
        PARTITION BY sums.slice, sums.strip ORDER BY sums.prediction
    ) AS labels_above
FROM (
    SELECT
        slice,
        prediction,
        prediction_strip AS strip,
        SUM(weight * label_rank) AS label_rank_sum,
        SUM(weight * prediction_rank) AS prediction_rank_sum,
        SUM(weight * label_deviation) AS label_sum
    FROM ranked_rows
    GROUP BY
        slice,
        prediction,
        prediction_strip
) AS sums
JOIN (
    SELECT
        slice,
        strip,
        SUM(strip_label_ranks) OVER (PARTITION BY slice ORDER BY strip) - strip_label_ranks AS label_ranks_before,
        SUM(strip_prediction_ranks) OVER (PARTITION BY slice ORDER BY strip) - strip_prediction_ranks
            AS prediction_ranks_before,
        SUM(strip_labels) OVER (PARTITION BY slice ORDER BY strip) - strip_labels AS labels_before
    FROM (
        SELECT
            slice,
            prediction_strip AS strip,
            SUM(weight * label_rank) AS strip_label_ranks,
            SUM(weight * prediction_rank) AS strip_prediction_ranks,
            SUM(weight * label_deviation) AS strip_labels
        FROM ranked_rows
        GROUP BY
            slice,
            prediction_strip
    ) AS strip_sums
) AS strips USING (slice, strip)
