/*
summary: total weight, and means of products of the ranks of labels and predictions
*/
SELECT
    slice,
    SUM(weight) AS total,
    CAST(SUM(weight * label_rank * prediction_rank) AS DOUBLE) / NULLIF(SUM(weight), 0) AS rank_covariance,
    CAST(SUM(weight * label_rank * label_rank) AS DOUBLE) / NULLIF(SUM(weight), 0) AS label_rank_variance,
    CAST(SUM(weight * prediction_rank * prediction_rank) AS DOUBLE) / NULLIF(SUM(weight), 0)
        AS prediction_rank_variance,
    CAST(SUM(weight * label_deviation * prediction_rank) AS DOUBLE) / NULLIF(SUM(weight), 0)
        AS concentration,
    CAST(SUM(weight * label_deviation * label_rank) AS DOUBLE) / NULLIF(SUM(weight), 0)
        AS best_concentration
FROM ranked_rows
GROUP BY slice
