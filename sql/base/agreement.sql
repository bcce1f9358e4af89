/*
summary: >-
  confusion matrix in long form, with how far each row of a cell is from the mean: of the rows that
  are right, of the shares of its classes, and of their agreement by chance
*/
SELECT
    confusion.slice,
    confusion.n,
    sums.all_rows,
    -- Not 1 minus the share of right rows, which would cancel where nearly all rows are right.
    CASE
        WHEN confusion.label = confusion.prediction THEN sums.wrong
        ELSE sums.wrong - 1e0
    END AS right_deviation,
    CAST(of_label.predicted + of_prediction.actual AS DOUBLE) / NULLIF(sums.all_rows, 0)
        - 2e0 * (1e0 - sums.disagreement) AS chance_deviation,
    CAST(of_label.actual AS DOUBLE) / NULLIF(sums.all_rows, 0)
        - (1e0 - sums.actual_diversity) AS actual_deviation,
    CAST(of_prediction.predicted AS DOUBLE) / NULLIF(sums.all_rows, 0)
        - (1e0 - sums.predicted_diversity) AS predicted_deviation,
    sums.wrong,
    sums.disagreement,
    sums.actual_diversity,
    sums.predicted_diversity
FROM confusion
JOIN (
    SELECT
        slice,
        class AS label,
        actual,
        predicted
    FROM class_totals
) AS of_label USING (slice, label)
JOIN (
    SELECT
        slice,
        class AS prediction,
        actual,
        predicted
    FROM class_totals
) AS of_prediction USING (slice, prediction)
JOIN (
    SELECT
        slice,
        MAX(total) AS all_rows,
        CAST(SUM(missed) AS DOUBLE) / NULLIF(MAX(total), 0) AS wrong,
        SUM(CAST(predicted AS DOUBLE) * (total - actual))
            / NULLIF(POWER(CAST(MAX(total) AS DOUBLE), 2), 0) AS disagreement,
        SUM(CAST(actual AS DOUBLE) * (total - actual))
            / NULLIF(POWER(CAST(MAX(total) AS DOUBLE), 2), 0) AS actual_diversity,
        SUM(CAST(predicted AS DOUBLE) * (total - predicted))
            / NULLIF(POWER(CAST(MAX(total) AS DOUBLE), 2), 0) AS predicted_diversity
    FROM class_totals
    GROUP BY slice
) AS sums USING (slice)
