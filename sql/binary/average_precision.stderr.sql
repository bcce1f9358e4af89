/*
summary: >-
  standard error of the average precision by the infinitesimal jackknife, linearised for weights
*/
-- The variance comes from the infinitesimal jackknife (Efron 1982): the sum, over all rows, of the
-- squared derivative of the value by the weight of the row, times its squared weight. A positive
-- adds its own precision and raises the precisions at its score and below; a negative lowers them.
-- The squares of the negatives need no row per negative: each is a sum over pairs of positives at
-- or below the negative, and `fp` negatives are at or above the higher positive of a pair. `miss`
-- is 1 - precision, because sums of squares of precisions would cancel where all are close to 1.
SELECT
    slice,
    SQRT(GREATEST(
        SUM(positive_squares * POWER(miss - raised, 2))
        - 2e0 * SUM(positive_squares * (miss - raised)) * SUM(positives * miss)
            / NULLIF(SUM(positives), 0)
        + POWER(SUM(positives * miss), 2) / NULLIF(SUM(positives), 0)
            * (CAST(SUM(positive_squares) AS DOUBLE) / NULLIF(SUM(positives), 0))
        + SUM(lowers * fp_squares * (2e0 * lowered - lowers)),
        0e0
    )) / NULLIF(SUM(positives), 0) AS stderr,
    -- If a few positives at the top decide, the standard error is uncertain. So the degrees of
    -- freedom follow from their effective number, (sum of w precision)^2 / sum of (w precision)^2.
    LEAST(
        POWER(SUM(positives * (1e0 - miss)), 2)
            / NULLIF(SUM(positive_squares * POWER(1e0 - miss, 2)), 0),
        MAX(total_negatives)
            * (CAST(MAX(total_negatives) AS DOUBLE) / NULLIF(MAX(total_negative_squares), 0))
    ) - 1e0 AS degrees,
    -- The warning limit is 5. Rows of a class are divided by 4, so 20 of them reach it. With fewer
    -- positives than the root of the number of rows, most samples lack the few positives at the
    -- top. All numbers are effective numbers of rows, (sum w)^2 / sum w^2.
    LEAST(
        25e-2 * LEAST(
            MAX(total_positives)
                * (CAST(MAX(total_positives) AS DOUBLE) / NULLIF(MAX(total_positive_squares), 0)),
            MAX(total_negatives)
                * (CAST(MAX(total_negatives) AS DOUBLE) / NULLIF(MAX(total_negative_squares), 0)),
            -- A few heavy negatives among the positives at the top can decide alone.
            MAX(total_negatives)
                * (CAST(MAX(total_negatives) AS DOUBLE) / NULLIF(MAX(total_negative_squares), 0))
                * (CAST(MAX(total_positive_squares) AS DOUBLE) / NULLIF(MAX(total_positives), 0))
                * (
                    MAX(total_positives)
                        * (CAST(MAX(total_positives) AS DOUBLE) / NULLIF(MAX(total_positive_squares), 0))
                    + MAX(total_negatives)
                        * (CAST(MAX(total_negatives) AS DOUBLE) / NULLIF(MAX(total_negative_squares), 0))
                ) / NULLIF(MAX(total_positives) + MAX(total_negatives), 0)
        ),
        5e0 * POWER(
            MAX(total_positives)
                * (CAST(MAX(total_positives) AS DOUBLE) / NULLIF(MAX(total_positive_squares), 0)),
            2
        ) / NULLIF(
            MAX(total_positives)
                * (CAST(MAX(total_positives) AS DOUBLE) / NULLIF(MAX(total_positive_squares), 0))
                + MAX(total_negatives)
                    * (CAST(MAX(total_negatives) AS DOUBLE) / NULLIF(MAX(total_negative_squares), 0)),
            0
        )
    ) AS support
FROM (
    SELECT
        slice,
        score_low,
        score_high,
        positives,
        positive_squares,
        tp,
        fp,
        fp_at_best,
        fp_squares,
        CAST(fp AS DOUBLE) / NULLIF(tp + fp, 0) AS miss,
        positives * (CAST(tp AS DOUBLE) / NULLIF(POWER(CAST(tp + fp AS DOUBLE), 2), 0)) AS lowers,
        raised,
        lowered,
        0 AS total_positives,
        0 AS total_negatives,
        0 AS total_positive_squares,
        0 AS total_negative_squares
    FROM precision_influences
    UNION ALL
    SELECT
        slice,
        0e0 AS score_low,
        0e0 AS score_high,
        0 AS positives,
        0 AS positive_squares,
        0 AS tp,
        0 AS fp,
        0 AS fp_at_best,
        0 AS fp_squares,
        0e0 AS miss,
        0e0 AS lowers,
        0e0 AS raised,
        0e0 AS lowered,
        total_positives,
        total_negatives,
        total_positive_squares,
        total_negative_squares
    FROM totals
) AS units
GROUP BY slice
