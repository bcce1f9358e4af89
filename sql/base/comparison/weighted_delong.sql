/*
summary: >-
  the areas under the ROC curves of a model and of the baseline on the same weighted rows, and the
  linearised standard error of their difference
reference: DeLong, DeLong and Clarke-Pearson (1988), linearised as in roc_auc
*/
SELECT
    slice,
    n,
    1e0 * positive_mean / NULLIF(negatives, 0) AS model_value,
    1e0 * baseline_positive_mean / NULLIF(negatives, 0) AS baseline_value,
    -- Equal models: sums of the same weights in another order differ by rounding.
    CASE WHEN variance <= 1e-28 THEN 0e0 ELSE SQRT(variance) END AS stderr,
    CASE
        WHEN COALESCE(positives, 0) = 0 THEN 'no positive labels'
        WHEN COALESCE(negatives, 0) = 0 THEN 'no negative labels'
        WHEN positive_rows = 1 OR negative_rows = 1 THEN 'no test: one row of a class'
        WHEN variance <= 1e-28 THEN 'no test: both models rank the rows alike'
        WHEN positives * positives < 2e1 * positive_squares
            OR negatives * negatives < 2e1 * negative_squares
        THEN 'few rows of a class: the test may find a difference too often'
    END AS note
FROM (
    SELECT
        slice,
        n,
        positives,
        negatives,
        positive_rows,
        negative_rows,
        positive_squares,
        negative_squares,
        positive_mean,
        baseline_positive_mean,
        -- Placements become shares of the other class.
        1e0 * positive_variance / NULLIF(POWER(negatives, 2), 0)
            + 1e0 * negative_variance / NULLIF(POWER(positives, 2), 0) AS variance
    FROM (
        SELECT
            slice,
            SUM(n_rows) AS n,
            SUM(CASE WHEN label = 1 THEN n_rows END) AS positive_rows,
            SUM(CASE WHEN label = 0 THEN n_rows END) AS negative_rows,
            SUM(CASE WHEN label = 1 THEN total END) AS positives,
            SUM(CASE WHEN label = 0 THEN total END) AS negatives,
            SUM(CASE WHEN label = 1 THEN squares END) AS positive_squares,
            SUM(CASE WHEN label = 0 THEN squares END) AS negative_squares,
            SUM(CASE WHEN label = 1 THEN mean END) AS positive_mean,
            SUM(CASE WHEN label = 1 THEN baseline_mean END) AS baseline_positive_mean,
            SUM(CASE WHEN label = 1 THEN variance END) AS positive_variance,
            SUM(CASE WHEN label = 0 THEN variance END) AS negative_variance
        FROM (
            -- The variance of a class's mean: the sum of w^2 (x - mean)^2, divided by (sum w)^2
            -- (1 - 1/n) with the effective number of rows n = (sum w)^2 / sum w^2.
            SELECT
                slice,
                label,
                n_rows,
                total,
                squares,
                mean,
                baseline_mean,
                GREATEST(
                    n_rows * (products_apart - plain_mean * squares_apart)
                        - shift * (2e0 * n_rows * squares_apart - shift * squares),
                    0e0
                ) / NULLIF(GREATEST(total * total - squares, 0e0), 0) AS variance
            FROM (
                SELECT
                    slice,
                    label,
                    n_rows,
                    total,
                    squares,
                    mean,
                    baseline_mean,
                    plain_mean,
                    squares_apart,
                    products_apart,
                    1e0 * n_rows * weights_apart / NULLIF(total, 0) AS shift
                FROM (
                    SELECT
                        slice,
                        label,
                        COUNT(*) AS n_rows,
                        SUM(weight) AS total,
                        SUM(weight * weight) AS squares,
                        1e0 * SUM(weight * beaten) / NULLIF(SUM(weight), 0) AS mean,
                        1e0 * SUM(weight * baseline_beaten) / NULLIF(SUM(weight), 0) AS baseline_mean,
                        AVG(beaten - baseline_beaten) AS plain_mean,
                        -- COVAR_POP is computed around the mean, because sums of squares would
                        -- cancel.
                        COVAR_POP(weight, beaten - baseline_beaten) AS weights_apart,
                        COVAR_POP(weight * weight, beaten - baseline_beaten) AS squares_apart,
                        COVAR_POP(
                            weight * weight * (beaten - baseline_beaten), beaten - baseline_beaten
                        ) AS products_apart
                    FROM weighted_placements
                    GROUP BY
                        slice,
                        label
                ) AS sums
            ) AS shifted
        ) AS classes
        GROUP BY slice
    ) AS sums_of_classes
) AS areas
