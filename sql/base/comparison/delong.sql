/*
summary: >-
  the areas under the ROC curves of a model and of the baseline on the same rows, and the standard
  error of their difference
reference: DeLong, DeLong and Clarke-Pearson (1988)
*/
SELECT
    slice,
    n,
    1e0 * positive_mean / NULLIF(negatives, 0) AS model_value,
    1e0 * baseline_positive_mean / NULLIF(negatives, 0) AS baseline_value,
    -- For each class: the variance of its placements (shares of the other class), divided by its
    -- number of rows.
    SQRT(
        1e0 * positive_variance / NULLIF(positives - 1, 0) / NULLIF(POWER(negatives, 2), 0)
        + 1e0 * negative_variance / NULLIF(negatives - 1, 0) / NULLIF(POWER(positives, 2), 0)
    ) AS stderr,
    CASE
        WHEN positives = 0 THEN 'no positive labels'
        WHEN negatives = 0 THEN 'no negative labels'
        WHEN positives = 1 OR negatives = 1 THEN 'no test: one row of a class'
        WHEN positive_variance + negative_variance = 0
        THEN 'no test: both models rank the rows alike'
        WHEN positives < 20 OR negatives < 20
        THEN 'few rows of a class: the test may find a difference too often'
    END AS note
FROM (
    SELECT
        slice,
        COUNT(*) AS n,
        SUM(CASE WHEN label = 1 THEN 1 ELSE 0 END) AS positives,
        SUM(CASE WHEN label = 0 THEN 1 ELSE 0 END) AS negatives,
        AVG(CASE WHEN label = 1 THEN beaten END) AS positive_mean,
        AVG(CASE WHEN label = 1 THEN baseline_beaten END) AS baseline_positive_mean,
        -- COVAR_POP is computed around the mean, because sums of squares would cancel.
        COVAR_POP(
            CASE WHEN label = 1 THEN beaten - baseline_beaten END,
            CASE WHEN label = 1 THEN beaten - baseline_beaten END
        ) AS positive_variance,
        COVAR_POP(
            CASE WHEN label = 0 THEN beaten - baseline_beaten END,
            CASE WHEN label = 0 THEN beaten - baseline_beaten END
        ) AS negative_variance
    FROM placements
    GROUP BY slice
) AS sums
