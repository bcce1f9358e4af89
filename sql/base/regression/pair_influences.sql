/*
summary: pair_counts, and the variance of Kendall's tau-b
*/
-- The influence of a row is twice its own mean over the rows that it forms pairs with, less the
-- mean of all (Hajek's projection); ties move the divisor in the same way.
SELECT
    slice,
    MAX(weight_of_all) AS total,
    MAX(net_of_all) AS net_pairs,
    MAX(pairs_of_labels) AS label_pairs,
    MAX(pairs_of_predictions) AS prediction_pairs,
    CAST(SUM(row_count) AS DOUBLE) / NULLIF(GREATEST(SUM(row_count) - 1e0, 0e0), 0)
        / NULLIF(MAX(weight_of_all), 0) / NULLIF(MAX(weight_of_all), 0) AS factor,
    -- Kish's effective number of rows, (sum w)^2 / sum w^2.
    SUM(mass) * (CAST(SUM(mass) AS DOUBLE) / NULLIF(SUM(mass_squares), 0)) AS effective_rows,
    SUM(mass_squares * POWER(influence, 2)) AS squares_of_kendall,
    2e0 / NULLIF(GREATEST(
        CAST(
            SUM(mass_squares * (CAST(mass_squares AS DOUBLE) / NULLIF(row_count, 0)) * POWER(influence, 4))
            AS DOUBLE
        ) / NULLIF(POWER(SUM(mass_squares * POWER(influence, 2)), 2), 0)
            - CAST(SUM(mass_squares) AS DOUBLE) / NULLIF(SUM(mass), 0) / NULLIF(SUM(mass), 0),
        1e-9
    ), 0) AS degrees_of_kendall
FROM (
    SELECT
        slice,
        mass,
        mass_squares,
        row_count,
        weight_of_all,
        net_of_all,
        pairs_of_labels,
        pairs_of_predictions,
        weight_of_all * (
            CAST(net AS DOUBLE) / NULLIF(SQRT(pairs_of_labels) * SQRT(pairs_of_predictions), 0)
            - 5e-1 * net_of_all / NULLIF(SQRT(pairs_of_labels) * SQRT(pairs_of_predictions), 0) * (
                CAST(weight_of_all - label_mass AS DOUBLE) / NULLIF(pairs_of_labels, 0)
                + CAST(weight_of_all - prediction_mass AS DOUBLE) / NULLIF(pairs_of_predictions, 0)
            )
        ) AS influence
    FROM (
        SELECT
            joint_counts.slice,
            joint_counts.mass,
            joint_counts.mass_squares,
            joint_counts.row_count,
            concordances.net,
            label_value_counts.mass AS label_mass,
            prediction_counts.mass AS prediction_mass,
            total AS weight_of_all,
            net_pairs AS net_of_all,
            label_pairs AS pairs_of_labels,
            prediction_pairs AS pairs_of_predictions
        FROM joint_counts
        JOIN concordances USING (slice, label, prediction)
        JOIN label_value_counts USING (slice, label)
        JOIN prediction_counts USING (slice, prediction)
        JOIN pair_counts USING (slice)
    ) AS joined_pairs
) AS influences
GROUP BY slice
