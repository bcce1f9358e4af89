/*
summary: >-
  expected cost at each unit's threshold, its lower bound within a bin (all positives first), and
  the cost of predicting nothing positive
params:
  cost_fn: float in (0, inf) = 1.0
  cost_fp: float in (0, inf) = 1.0
  prior: float in (0, 1) = null
*/
SELECT
    slice,
    score_low,
    score_high,
    CASE
        WHEN $prior IS NULL
        THEN CAST($cost_fn * (total_positives - tp) + $cost_fp * fp AS DOUBLE)
            / NULLIF(total_positives + total_negatives, 0)
        ELSE
            CAST($prior * $cost_fn * (total_positives - tp) AS DOUBLE) / NULLIF(total_positives, 0)
            + (1e0 - $prior) * $cost_fp * fp / NULLIF(total_negatives, 0)
    END AS cost,
    CASE
        WHEN $prior IS NULL
        THEN CAST($cost_fn * (total_positives - tp) + $cost_fp * fp_at_best AS DOUBLE)
            / NULLIF(total_positives + total_negatives, 0)
        ELSE
            CAST($prior * $cost_fn * (total_positives - tp) AS DOUBLE) / NULLIF(total_positives, 0)
            + (1e0 - $prior) * $cost_fp * fp_at_best / NULLIF(total_negatives, 0)
    END AS least_cost,
    CASE
        WHEN $prior IS NULL
        THEN CAST($cost_fn * total_positives AS DOUBLE) / NULLIF(total_positives + total_negatives, 0)
        WHEN total_positives > 0 AND total_negatives > 0 THEN $prior * $cost_fn
    END AS cost_of_nothing,
    total_positives,
    total_negatives
FROM cutoffs
