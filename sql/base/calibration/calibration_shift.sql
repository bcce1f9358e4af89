/*
summary: >-
  logistic regression of the label on a constant, with the logit of the score as offset, by Newton's
  steps; the sums of the last step give the variance of the constant, also if the slope is not 1
repeat: 25
unbinned: always
*/
WITH start AS (
    -- From the difference between the logits of the observed and of the expected share, a root is
    -- found in 5 steps, and in 25 if the mean of few, extreme probabilities is far from it.
    SELECT
        slice,
        CASE
            WHEN has_none = 0 AND total_positives > 0 AND total_negatives > 0
            THEN LN(
                CAST(total_positives AS DOUBLE) / NULLIF(total_negatives, 0)
                / NULLIF(CAST(expected AS DOUBLE) / NULLIF(unexpected, 0), 0)
            )
        END AS shift,
        0e0 AS last_step,
        0e0 AS information,
        0e0 AS squared_information
    FROM logit_totals
),
steps AS (
    SELECT
        slice,
        -- Longer steps may lead from one flat end of the likelihood to the other.
        last_shift + LEAST(GREATEST(CAST(residual AS DOUBLE) / NULLIF(total, 0), -2e0), 2e0) AS shift,
        ABS(CAST(residual AS DOUBLE) / NULLIF(total, 0)) AS last_step,
        total AS information,
        total_squares AS squared_information
    FROM (
        SELECT
            slice,
            MIN(same_shift) AS last_shift,
            SUM(positives * miss - negatives * hit) AS residual,
            SUM((positives + negatives) * miss * hit) AS total,
            SUM(positive_squares * miss * miss + negative_squares * hit * hit) AS total_squares
        FROM (
            SELECT
                fit.slice,
                fit.shift AS same_shift,
                logits.positives,
                logits.negatives,
                logits.positive_squares,
                logits.negative_squares,
                -- As in calibration_fit.sql.
                1e0 / NULLIF(
                    1e0 + EXP(LEAST(GREATEST(-fit.shift - logits.logit, -7e2), 7e2)), 0
                ) AS hit,
                1e0 / NULLIF(
                    1e0 + EXP(LEAST(GREATEST(fit.shift + logits.logit, -7e2), 7e2)), 0
                ) AS miss
            FROM start AS fit
            JOIN logits USING (slice)
        ) AS fitted
        GROUP BY slice
    ) AS solved
)
SELECT
    fit.slice,
    CASE WHEN fit.last_step <= 1e-9 THEN fit.shift END AS fitted_shift,
    SQRT(fit.squared_information) / NULLIF(fit.information, 0) AS shift_error,
    logit_totals.total_positives,
    logit_totals.total_negatives,
    logit_totals.total_positive_squares,
    logit_totals.total_negative_squares,
    logit_totals.has_none
FROM steps AS fit
JOIN logit_totals USING (slice)
