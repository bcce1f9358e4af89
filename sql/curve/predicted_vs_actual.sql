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
    bins.slice,
    CAST(bins.number + 1 AS BIGINT) AS bin,
    MAX(means.mean_prediction) AS predicted,
    MAX(means.mean_label) AS actual,
    -- The sum of squares around the bin's mean m, from p - m and the errors e = p - y, because the
    -- squares of labels far from 0 would cancel: y - m = (p - m) - e.
    SQRT(GREATEST(SUM(
        bins.mass_squares * POWER(bins.prediction - means.mean_label, 2)
        - 2e0 * (bins.prediction - means.mean_label) * bins.error_squares
        + bins.squared_error_squares
    ), 0e0) * MAX(means.bin_rows) / NULLIF(MAX(means.bin_rows) - 1, 0))
        / NULLIF(MAX(means.bin_mass), 0) AS stderr,
    MAX(means.bin_mass) AS n
FROM prediction_bins AS bins
JOIN (
    SELECT
        slice,
        number,
        SUM(mass) AS bin_mass,
        SUM(row_count) AS bin_rows,
        CAST(SUM(mass * prediction) AS DOUBLE) / NULLIF(SUM(mass), 0) AS mean_prediction,
        CAST(SUM(label_sum) AS DOUBLE) / NULLIF(SUM(mass), 0) AS mean_label
    FROM prediction_bins
    GROUP BY
        slice,
        number
) AS means USING (slice, number)
GROUP BY
    bins.slice,
    bins.number
