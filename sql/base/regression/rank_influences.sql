/*
summary: moments of ranks, and the variances of metrics made of them
*/
-- The influence of a row has its own product of ranks, and what the row adds to the ranks of
-- others: it is below the rows with larger values, and half below those with equal ones. This is
-- the infinitesimal jackknife (Efron 1982), as for placements of an area under the ROC curve.
SELECT
    slice,
    MAX(weight_of_all) AS total,
    MAX(covariance_of_ranks) AS rank_covariance,
    MAX(variance_of_label_ranks) AS label_rank_variance,
    MAX(variance_of_prediction_ranks) AS prediction_rank_variance,
    MAX(concentration_of_all) AS concentration,
    MAX(best_of_all) AS best_concentration,
    CAST(SUM(n_rows) AS DOUBLE) / NULLIF(GREATEST(SUM(n_rows) - 1e0, 0e0), 0)
        / NULLIF(MAX(weight_of_all), 0) / NULLIF(MAX(weight_of_all), 0) AS factor,
    -- Kish's effective number of rows, (sum w)^2 / sum w^2.
    SUM(weight) * (CAST(SUM(weight) AS DOUBLE) / NULLIF(SUM(squares), 0)) AS effective_rows,
    SUM(squares * POWER(of_spearman, 2)) AS squares_of_spearman,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_spearman, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_spearman, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_spearman,
    SUM(squares * POWER(of_gini, 2)) AS squares_of_gini,
    2e0 / NULLIF(GREATEST(
        CAST(SUM(squares * (CAST(squares AS DOUBLE) / NULLIF(n_rows, 0)) * POWER(of_gini, 4)) AS DOUBLE)
            / NULLIF(POWER(SUM(squares * POWER(of_gini, 2)), 2), 0)
            - CAST(SUM(squares) AS DOUBLE) / NULLIF(SUM(weight), 0) / NULLIF(SUM(weight), 0),
        1e-9
    ), 0) AS degrees_of_gini
FROM (
    SELECT
        slice,
        weight,
        squares,
        n_rows,
        weight_of_all,
        covariance_of_ranks,
        variance_of_label_ranks,
        variance_of_prediction_ranks,
        concentration_of_all,
        best_of_all,
        CAST(
            label_rank * prediction_rank + others_of_labels + others_of_predictions
            - 3e0 * covariance_of_ranks
            AS DOUBLE
        ) / NULLIF(SQRT(variance_of_label_ranks) * SQRT(variance_of_prediction_ranks), 0)
            - 5e-1 * covariance_of_ranks
                / NULLIF(SQRT(variance_of_label_ranks) * SQRT(variance_of_prediction_ranks), 0)
                * (
                    CAST(label_rank * label_rank + 2e0 * own_of_labels AS DOUBLE)
                        / NULLIF(variance_of_label_ranks, 0)
                    + CAST(prediction_rank * prediction_rank + 2e0 * own_of_predictions AS DOUBLE)
                        / NULLIF(variance_of_prediction_ranks, 0)
                    - 6e0
                ) AS of_spearman,
        CAST(
            label_deviation * prediction_rank + labels_of_predictions - 2e0 * concentration_of_all
            - CAST(concentration_of_all AS DOUBLE) / NULLIF(best_of_all, 0)
                * (label_deviation * label_rank + labels_of_labels - 2e0 * best_of_all)
            AS DOUBLE
        ) / NULLIF(best_of_all, 0) AS of_gini
    FROM (
        SELECT
            ranked_rows.slice,
            ranked_rows.weight,
            ranked_rows.squares,
            ranked_rows.n_rows,
            ranked_rows.label_deviation,
            ranked_rows.label_rank,
            ranked_rows.prediction_rank,
            total AS weight_of_all,
            rank_covariance AS covariance_of_ranks,
            label_rank_variance AS variance_of_label_ranks,
            prediction_rank_variance AS variance_of_prediction_ranks,
            concentration AS concentration_of_all,
            best_concentration AS best_of_all,
            CAST(label_rank_sums.prediction_ranks_above AS DOUBLE) / NULLIF(total, 0) AS others_of_labels,
            CAST(prediction_rank_sums.label_ranks_above AS DOUBLE) / NULLIF(total, 0) AS others_of_predictions,
            CAST(label_rank_sums.label_ranks_above AS DOUBLE) / NULLIF(total, 0) AS own_of_labels,
            CAST(prediction_rank_sums.prediction_ranks_above AS DOUBLE) / NULLIF(total, 0)
                AS own_of_predictions,
            CAST(label_rank_sums.labels_above AS DOUBLE) / NULLIF(total, 0) AS labels_of_labels,
            CAST(prediction_rank_sums.labels_above AS DOUBLE) / NULLIF(total, 0) AS labels_of_predictions
        FROM ranked_rows
        JOIN label_rank_sums USING (slice, label)
        JOIN prediction_rank_sums USING (slice, prediction)
        JOIN rank_moments USING (slice)
    ) AS joined_rows
) AS influences
GROUP BY slice
