/*
summary: standard error of normalized entropy by the delta method, linearised for weights
*/
SELECT
    slice,
    -- Delta method: a row adds its loss and, if it is positive, changes the entropy of the labels
    -- by slope. So this is the variance of loss - slope y, linearised for weights: the sum of w^2
    -- (x - mean)^2. The rounding error is subtracted, so that the result is 0 if every probability
    -- is the prevalence.
    SQRT(
        GREATEST(
            (1e0 - 1e-13) * squared_losses
            - 2e0 * slope * positive_losses
            + slope * slope * positive_squares
            - mean * (2e0 * (loss_squares - slope * positive_squares) - mean * total_squares),
            0e0
        )
    ) / NULLIF(entropy, 0) AS stderr,
    -- Effective numbers of rows, (sum w)^2 / sum w^2. The warning limit is 5. Rows of a class are
    -- divided by 4, so 20 of them reach it. Rows with large losses are divided by 6, as in
    -- log_loss.stderr.sql.
    LEAST(
        COALESCE(25e-2 * positives * positives / NULLIF(positive_squares, 0), 0e0),
        COALESCE(25e-2 * negatives * negatives / NULLIF(total_squares - positive_squares, 0), 0e0),
        COALESCE(POWER(losses, 2) / NULLIF(6e0 * squared_losses, 0), 0e0)
    ) AS support
FROM (
    SELECT
        slice,
        losses,
        squared_losses,
        positive_losses,
        loss_squares,
        positives,
        negatives,
        positive_squares,
        total_squares,
        entropy,
        slope,
        CAST(losses - slope * positives AS DOUBLE) / NULLIF(positives + negatives, 0) AS mean
    FROM (
        SELECT
            slice,
            losses,
            squared_losses,
            positive_losses,
            loss_squares,
            positives,
            negatives,
            positive_squares,
            total_squares,
            entropy,
            LN(CAST(negatives AS DOUBLE) / NULLIF(positives, 0)) * losses / NULLIF(entropy, 0) AS slope
        FROM (
            SELECT
                slice,
                losses,
                squared_losses,
                positive_losses,
                loss_squares,
                positives,
                negatives,
                positive_squares,
                total_squares,
                -- normalized_entropy.sql explains it.
                NULLIF(negatives, 0) * COALESCE(
                    LN(1e0 + CAST(negatives AS DOUBLE) / NULLIF(positives, 0))
                    / NULLIF(1e0 + CAST(negatives AS DOUBLE) / NULLIF(positives, 0) - 1e0, 0),
                    1e0
                )
                + NULLIF(positives, 0) * COALESCE(
                    LN(1e0 + CAST(positives AS DOUBLE) / NULLIF(negatives, 0))
                    / NULLIF(1e0 + CAST(positives AS DOUBLE) / NULLIF(negatives, 0) - 1e0, 0),
                    1e0
                ) AS entropy
            FROM (
                SELECT
                    slice,
                    SUM(weight * loss) AS losses,
                    SUM(squares * (loss_centre * loss_centre + loss_variance)) AS squared_losses,
                    SUM(CASE WHEN label = 1 THEN squares * loss_centre ELSE 0e0 END)
                        AS positive_losses,
                    SUM(squares * loss_centre) AS loss_squares,
                    SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS positives,
                    SUM(CASE WHEN label = 0 THEN weight ELSE 0 END) AS negatives,
                    SUM(CASE WHEN label = 1 THEN squares ELSE 0 END) AS positive_squares,
                    SUM(squares) AS total_squares
                FROM log_losses
                GROUP BY slice
            ) AS sums
        ) AS entropies
    ) AS slopes
) AS means
