/*
summary: >-
  mean prediction and mean label by quantile of the prediction, with the standard error of the mean
  label
formula: mean of p and mean of y over the rows of a bin
order: bin
band: [bin, actual, points]
chart:
  title: Predicted and actual values
  draw: predicted_vs_actual
  columns: [predicted, actual, n]
reference: pandas.qcut
task: regression
types: {bin: integer, n: count}
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(number + 1 AS BIGINT) AS bin,
    CAST(SUM(weight * prediction) AS DOUBLE) / NULLIF(SUM(weight), 0) AS predicted,
    MAX(mean_label) AS actual,
    -- Linearised for weights, times n / (n - 1) as in R's svymean. The mean label is rounded, so
    -- the mean of the deviations, which is no larger than its rounding, is taken off once more.
    SQRT(GREATEST(
        SUM(squares * deviation * deviation)
        - CAST(SUM(weight * deviation) AS DOUBLE) / NULLIF(SUM(weight), 0) * (
            2e0 * SUM(squares * deviation)
            - CAST(SUM(weight * deviation) AS DOUBLE) / NULLIF(SUM(weight), 0) * SUM(squares)
        ),
        0e0
    ) * (CAST(SUM(n_rows) AS DOUBLE) / NULLIF(SUM(n_rows) - 1, 0)))
        / NULLIF(SUM(weight), 0) AS stderr,
    SUM(weight) AS n
FROM (
    SELECT
        rows_of_bins.slice,
        rows_of_bins.number,
        rows_of_bins.prediction,
        rows_of_bins.weight,
        rows_of_bins.squares,
        rows_of_bins.n_rows,
        means.mean_label,
        rows_of_bins.label - means.mean_label AS deviation
    FROM binned_predictions AS rows_of_bins
    JOIN (
        SELECT
            slice,
            number,
            CAST(SUM(label_sum) AS DOUBLE) / NULLIF(SUM(mass), 0) AS mean_label
        FROM prediction_bins
        GROUP BY
            slice,
            number
    ) AS means USING (slice, number)
) AS deviations
GROUP BY
    slice,
    number
