/*
summary: >-
  rows, positives and sum of probabilities in each bin, as scikit-learn's calibration_curve makes
  them: bins of equal width, open below, or bins of equal mass
params:
  bins: int in [1, inf) = 10
  strategy: str in {uniform, quantile} = uniform
*/
SELECT
    slice,
    number,
    n,
    positives,
    score_sum
FROM uniform_bins
WHERE $strategy = 'uniform'
UNION ALL
SELECT
    slice,
    number,
    SUM(own_positives + own_negatives) AS n,
    SUM(own_positives) AS positives,
    SUM((own_positives + own_negatives) * own_score) AS score_sum
FROM (
    SELECT
        slice,
        positives AS own_positives,
        negatives AS own_negatives,
        CAST(score_low AS DOUBLE) AS own_score,
        -- The quantile k / bins lies below a score if it lies among the rows below it.
        LEAST(GREATEST(CEIL(COALESCE(
            CAST(total_positives + total_negatives - tp - fp AS DOUBLE) * $bins
                / NULLIF(GREATEST(total_positives + total_negatives - 1e0, 0e0), 0),
            0e0
        )) - 1e0, 0e0), $bins - 1e0) AS number
    FROM cutoffs
    WHERE $strategy = 'quantile'
) AS ranked
GROUP BY
    slice,
    number
