/*
summary: standard error of the ROC AUC by DeLong's method, linearised for weights
*/
SELECT
    slice,
    -- DeLong, DeLong and Clarke-Pearson (1988): the variance, per class, of the number of rows of
    -- the other class above a row. Ties count one half, so all rows of a score must be one unit.
    -- Linearised for weights: the sum of w^2 (x - mean)^2, divided by (sum w)^2 (1 - 1/n) with the
    -- effective number of rows n = (sum w)^2 / sum w^2. It is computed around the plain mean of the
    -- units, because near an area of 1 or 0 sums of squares would cancel.
    SQRT(
        GREATEST(
            COUNT(negatives_above) * (
                COVAR_POP(positive_squares * negatives_above, negatives_above)
                - AVG(negatives_above) * COVAR_POP(positive_squares, negatives_above)
            )
                - COUNT(negatives_above) * COVAR_POP(positives, negatives_above)
                    / NULLIF(CAST(SUM(positives) AS DOUBLE), 0) * (
                        2e0 * COUNT(negatives_above) * COVAR_POP(positive_squares, negatives_above)
                        - COUNT(negatives_above) * COVAR_POP(positives, negatives_above)
                            * (CAST(SUM(positive_squares) AS DOUBLE) / NULLIF(SUM(positives), 0))
                    ),
            0e0
        ) / NULLIF(GREATEST(SUM(positives) - CAST(SUM(positive_squares) AS DOUBLE) / NULLIF(SUM(positives), 0), 0e0), 0)
            / NULLIF(POWER(CAST(SUM(negatives) AS DOUBLE), 2) * SUM(positives), 0)
        + GREATEST(
            COUNT(positives_above) * (
                COVAR_POP(negative_squares * positives_above, positives_above)
                - AVG(positives_above) * COVAR_POP(negative_squares, positives_above)
            )
                - COUNT(positives_above) * COVAR_POP(negatives, positives_above)
                    / NULLIF(CAST(SUM(negatives) AS DOUBLE), 0) * (
                        2e0 * COUNT(positives_above) * COVAR_POP(negative_squares, positives_above)
                        - COUNT(positives_above) * COVAR_POP(negatives, positives_above)
                            * (CAST(SUM(negative_squares) AS DOUBLE) / NULLIF(SUM(negatives), 0))
                    ),
            0e0
        ) / NULLIF(GREATEST(SUM(negatives) - CAST(SUM(negative_squares) AS DOUBLE) / NULLIF(SUM(negatives), 0), 0e0), 0)
            / NULLIF(POWER(CAST(SUM(positives) AS DOUBLE), 2) * SUM(negatives), 0)
    ) AS stderr,
    -- The largest number of positive-negative pairs that share no row, in effective rows.
    LEAST(
        SUM(positives) * (CAST(SUM(positives) AS DOUBLE) / NULLIF(SUM(positive_squares), 0)),
        SUM(negatives) * (CAST(SUM(negatives) AS DOUBLE) / NULLIF(SUM(negative_squares), 0))
    ) AS pairs
FROM (
    SELECT
        slice,
        score_low,
        score_high,
        positives,
        negatives,
        positive_squares,
        negative_squares,
        tp,
        fp,
        CASE WHEN positives > 0 THEN fp - 5e-1 * negatives END AS negatives_above,
        CASE WHEN negatives > 0 THEN tp - 5e-1 * positives END AS positives_above
    FROM cutoffs
) AS units
GROUP BY slice
