/*
summary: >-
  weighted mean loss of a model and of the baseline, the variance of the difference per row by
  squared weights, and the effective number of rows
reference: the ratio estimator of survey sampling (Cochran 1977, section 6.4), as R's svymean has it
*/
SELECT
    slice,
    n,
    model_value,
    baseline_value,
    -- Computed around the plain mean of the rows and then shifted to the weighted mean, because
    -- sums of squares would cancel.
    GREATEST(
        n * (products_apart - plain_mean * squares_apart)
            - shift * (2e0 * n * squares_apart - shift * weight_squares),
        0e0
    ) / NULLIF(weight_squares, 0) AS variance,
    1e0 * total * total / NULLIF(weight_squares, 0) AS effective
FROM (
    SELECT
        slice,
        n,
        model_value,
        baseline_value,
        total,
        weight_squares,
        plain_mean,
        squares_apart,
        products_apart,
        1e0 * n * weights_apart / NULLIF(total, 0) AS shift
    FROM (
        SELECT
            slice,
            COUNT(*) AS n,
            1e0 * SUM(weight * loss) / NULLIF(SUM(weight), 0) AS model_value,
            1e0 * SUM(weight * baseline_loss) / NULLIF(SUM(weight), 0) AS baseline_value,
            SUM(weight) AS total,
            SUM(weight * weight) AS weight_squares,
            AVG(loss - baseline_loss) AS plain_mean,
            COVAR_POP(weight, loss - baseline_loss) AS weights_apart,
            COVAR_POP(weight * weight, loss - baseline_loss) AS squares_apart,
            COVAR_POP(weight * weight * (loss - baseline_loss), loss - baseline_loss)
                AS products_apart
        FROM losses
        GROUP BY slice
    ) AS sums
) AS shifted
