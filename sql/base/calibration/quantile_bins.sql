/*
summary: >-
  per bin of equal mass: rows, squared weights, positives and the sum of probabilities, as in scikit-learn's
  calibration_curve
params:
  bins: int in [1, inf) = 10
unbinned: always
*/
SELECT
    slice,
    number,
    SUM(own_positives + own_negatives) AS n,
    SUM(own_squares) AS squared_weights,
    SUM(own_positives) AS positives,
    SUM((own_positives + own_negatives) * own_score) AS score_sum
FROM (
    SELECT
        cutoffs.slice,
        cutoffs.positives AS own_positives,
        cutoffs.negatives AS own_negatives,
        cutoffs.positive_squares + cutoffs.negative_squares AS own_squares,
        CAST(cutoffs.score_low AS DOUBLE) AS own_score,
        -- Quantile k / bins, at position k (n - 1) / bins, is below a score if this position is
        -- among the rows below the score. Weights whose mean is below 1 are not counts, and n - 1
        -- is the total without the mean weight.
        LEAST(GREATEST(CEIL(COALESCE(
            CAST(
                cutoffs.total_positives + cutoffs.total_negatives - cutoffs.tp - cutoffs.fp
                AS DOUBLE
            ) * $bins
                / NULLIF(GREATEST(
                    cutoffs.total_positives + cutoffs.total_negatives - LEAST(
                        CAST(cutoffs.total_positives + cutoffs.total_negatives AS DOUBLE)
                            / NULLIF(units.n, 0),
                        1e0
                    ),
                    0e0
                ), 0),
            0e0
        )) - 1e0, 0e0), $bins - 1e0) AS number
    FROM cutoffs
    -- A join instead of a window, because a window would bring all rows of a slice into one task of
    -- an engine of several machines.
    JOIN (
        SELECT
            slice,
            COUNT(*) AS n
        FROM (
            -- Count each score once, also where units are rows.
            SELECT
                slice,
                score_low
            FROM cutoffs
            GROUP BY
                slice,
                score_low
        ) AS scores
        GROUP BY slice
    ) AS units USING (slice)
) AS ranked
GROUP BY
    slice,
    number
