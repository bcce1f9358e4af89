/*
summary: mean absolute error
formula: mean(|prediction - label|)
direction: lower
range: 0 .. inf
reference: sklearn.metrics.mean_absolute_error
aliases: [mean_absolute_error, neg_mean_absolute_error]
task: regression
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * absolute_error) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    -- Covariances are computed around the mean; sum(w x^2) - sum(w x)^2 / sum(w) would cancel where
    -- the mean is large beside the deviation. Rows of weight 0 must not move that mean.
    SQRT(
        GREATEST(
            SUM(weight * absolute_error_variance)
                + COUNT(*) * (
                    COVAR_POP(weight * absolute_error, absolute_error)
                    - AVG(absolute_error) * COVAR_POP(weight, absolute_error)
                )
                - POWER(COUNT(*) * COVAR_POP(weight, absolute_error), 2) / NULLIF(SUM(weight), 0),
            0e0
        ) / NULLIF(GREATEST(SUM(weight) - 1e0, 0e0), 0) / NULLIF(SUM(weight), 0)
    ) AS stderr,
    -- Kish's effective number of rows: beside few rows with large losses the others hardly count.
    -- A quarter of it: 20 such rows are enough, of a count 5.
    POWER(SUM(weight * absolute_error), 2)
        / NULLIF(
            4e0 * SUM(weight * (absolute_error * absolute_error + absolute_error_variance)), 0
        ) AS support,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM errors
WHERE weight > 0
GROUP BY slice
