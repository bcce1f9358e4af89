/*
summary: root of the mean squared error, divided by the mean, the standard deviation or the range of the labels; an interval takes the range as given
formula: sqrt(mean((p - y)^2)) / scale, scale |mean(y)|, sqrt(Var(y)) or max(y) - min(y)
direction: lower
range: 0 .. inf
params:
  normalization: str in {mean, std, range} = mean
interval: delta
reference: sklearn.metrics.root_mean_squared_error # divided by numpy.mean, numpy.std or numpy.ptp of the labels
aliases: [nrmse]
task: regression
weights: frequency
unbinned: normalization=range
since: 0.2.0
*/
SELECT
    slice,
    SQRT(mean_squared_error)
        / NULLIF(
            CASE
                WHEN $normalization = 'std' THEN SQRT(label_variance)
                WHEN $normalization = 'range' THEN CASE WHEN label_variance > 0 THEN label_range END
                -- A mean of 0 is 0 except for rounding.
                WHEN ABS(mean_label) > 1e-15 * SQRT(label_variance) THEN ABS(mean_label)
            END,
            0
        ) AS value,
    CASE
        WHEN $normalization = 'mean' AND ABS(mean_label) <= 1e-15 * SQRT(label_variance)
        THEN 'the labels have a mean of 0'
        WHEN $normalization <> 'mean' AND label_variance = 0 THEN 'constant labels'
    END AS note
FROM regression_moments
