/*
summary: >-
  logistic regression of the label on the logit of the score, by Newton's steps; the sums of the last
  step give the variance of the slope, also if the fitted line is not the true one
repeat: 20
unbinned: always
*/
-- Few subqueries in a step: ClickHouse admits 100 one inside the other.
WITH start AS (
    -- Newton's steps from slope 0 converge: of 6,000 random samples none needed more than 15. A
    -- slope of infinity has no maximum to converge to.
    SELECT
        slice,
        mean_logit,
        CASE
            WHEN
                has_none = 0
                AND highest_negative > lowest_positive
                AND highest_positive > lowest_negative
            THEN LN(CAST(total_positives AS DOUBLE) / NULLIF(total_negatives, 0))
        END AS centre,
        0e0 AS slope,
        0e0 AS last_step,
        0e0 AS information,
        0e0 AS squared_information
    FROM logit_totals
),
steps AS (
    SELECT
        slice,
        mean_logit,
        last_centre + CAST(second * residual - first * slope_residual AS DOUBLE)
            / NULLIF(total * second - first * first, 0) AS centre,
        last_slope + CAST(total * slope_residual - first * residual AS DOUBLE)
            / NULLIF(total * second - first * first, 0) AS slope,
        CAST(ABS(total * slope_residual - first * residual) AS DOUBLE)
            / NULLIF(total * second - first * first, 0) AS last_step,
        second - CAST(first * first AS DOUBLE) / NULLIF(total, 0) AS information,
        second_squares - CAST(2e0 * first AS DOUBLE) / NULLIF(total, 0) * first_squares
            + CAST(first * first AS DOUBLE) / NULLIF(total * total, 0) * total_squares
            AS squared_information
    FROM (
        SELECT
            slice,
            MIN(same_mean) AS mean_logit,
            MIN(same_centre) AS last_centre,
            MIN(same_slope) AS last_slope,
            SUM(positives * miss - negatives * hit) AS residual,
            SUM((positives * miss - negatives * hit) * x) AS slope_residual,
            SUM((positives + negatives) * miss * hit) AS total,
            SUM((positives + negatives) * miss * hit * x) AS first,
            SUM((positives + negatives) * miss * hit * x * x) AS second,
            SUM(positive_squares * miss * miss + negative_squares * hit * hit) AS total_squares,
            SUM((positive_squares * miss * miss + negative_squares * hit * hit) * x)
                AS first_squares,
            SUM((positive_squares * miss * miss + negative_squares * hit * hit) * x * x)
                AS second_squares
        FROM (
            SELECT
                fit.slice,
                fit.mean_logit AS same_mean,
                fit.centre AS same_centre,
                fit.slope AS same_slope,
                logits.positives,
                logits.negatives,
                logits.positive_squares,
                logits.negative_squares,
                logits.logit - fit.mean_logit AS x,
                -- One of these is not 1 minus the other, which would be rounded. Some engines raise
                -- an error where EXP exceeds the range of DOUBLE.
                1e0 / NULLIF(1e0 + EXP(LEAST(GREATEST(
                    -fit.centre - fit.slope * (logits.logit - fit.mean_logit), -7e2
                ), 7e2)), 0) AS hit,
                1e0 / NULLIF(1e0 + EXP(LEAST(GREATEST(
                    fit.centre + fit.slope * (logits.logit - fit.mean_logit), -7e2
                ), 7e2)), 0) AS miss
            FROM start AS fit
            JOIN logits USING (slice)
        ) AS fitted
        GROUP BY slice
    ) AS sums
)
SELECT
    fit.slice,
    -- GREATEST and LEAST skip the NULL of a start that has no fit.
    CASE
        WHEN fit.centre IS NOT NULL AND fit.last_step <= 1e-9 * GREATEST(ABS(fit.slope), 1e0)
        THEN fit.slope
    END AS fitted_slope,
    SQRT(fit.squared_information) / NULLIF(fit.information, 0) AS slope_error,
    logit_totals.total_positives,
    logit_totals.total_negatives,
    logit_totals.total_positive_squares,
    logit_totals.total_negative_squares,
    logit_totals.has_none,
    logit_totals.lowest_positive,
    logit_totals.highest_positive,
    logit_totals.lowest_negative,
    logit_totals.highest_negative
FROM steps AS fit
JOIN logit_totals USING (slice)
