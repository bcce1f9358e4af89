/*
summary: >-
  per label and prediction: the sum of squared weights, and the deviation of each of its rows from
  the means of agreement, of chance agreement and of the class shares
*/
SELECT
    slice,
    n_squares,
    all_rows,
    -- The share of wrong rows, not 1 minus the share of right rows, which would cancel where nearly
    -- all rows are right.
    CASE WHEN label = prediction THEN wrong ELSE wrong - 1e0 END AS right_deviation,
    CAST(label_predicted + prediction_actual AS DOUBLE) / NULLIF(all_rows, 0)
        - 2e0 * (1e0 - disagreement) AS chance_deviation,
    CAST(label_actual AS DOUBLE) / NULLIF(all_rows, 0) - (1e0 - actual_diversity)
        AS actual_deviation,
    CAST(prediction_predicted AS DOUBLE) / NULLIF(all_rows, 0) - (1e0 - predicted_diversity)
        AS predicted_deviation,
    wrong,
    disagreement,
    actual_diversity,
    predicted_diversity
FROM (
    -- One join each: after several, ClickHouse gives a column of one relation the name of both.
    SELECT
        cells.slice,
        cells.label,
        cells.prediction,
        cells.n_squares,
        cells.label_actual,
        cells.label_predicted,
        cells.all_rows,
        cells.wrong,
        cells.disagreement,
        cells.actual_diversity,
        cells.predicted_diversity,
        of_prediction.prediction_actual,
        of_prediction.prediction_predicted
    FROM (
        SELECT
            decision_counts.slice,
            decision_counts.label,
            decision_counts.prediction,
            decision_counts.n_squares,
            of_label.label_actual,
            of_label.label_predicted,
            of_label.all_rows,
            of_label.wrong,
            of_label.disagreement,
            of_label.actual_diversity,
            of_label.predicted_diversity
        FROM decision_counts
        JOIN (
            SELECT
                slice,
                class AS label,
                actual AS label_actual,
                predicted AS label_predicted,
                total AS all_rows,
                CAST(
                    SUM(CAST(missed AS DOUBLE)) OVER (PARTITION BY slice) AS DOUBLE
                )
                    / NULLIF(total, 0) AS wrong,
                CAST(
                    SUM(CAST(predicted AS DOUBLE) * (total - actual)) OVER (PARTITION BY slice) AS DOUBLE
                )
                    / NULLIF(POWER(CAST(total AS DOUBLE), 2), 0) AS disagreement,
                CAST(
                    SUM(CAST(actual AS DOUBLE) * (total - actual)) OVER (PARTITION BY slice) AS DOUBLE
                )
                    / NULLIF(POWER(CAST(total AS DOUBLE), 2), 0) AS actual_diversity,
                CAST(
                    SUM(CAST(predicted AS DOUBLE) * (total - predicted)) OVER (PARTITION BY slice) AS DOUBLE
                )
                    / NULLIF(POWER(CAST(total AS DOUBLE), 2), 0) AS predicted_diversity
            FROM class_totals
        ) AS of_label USING (slice, label)
    ) AS cells
    JOIN (
        SELECT
            slice,
            class AS prediction,
            actual AS prediction_actual,
            predicted AS prediction_predicted
        FROM class_totals
    ) AS of_prediction USING (slice, prediction)
) AS placed
