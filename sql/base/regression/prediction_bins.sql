/*
summary: >-
  per distinct prediction: rows, the sum of labels, and the number of its bin of equal mass; a tie
  lies in one bin, as in pandas.qcut
params:
  bins: int in [1, inf) = 10
*/
SELECT
    slice,
    prediction,
    mass,
    label_sum,
    -- The edges are the quantiles of calibration_bins.sql: quantile k / bins, at position
    -- k (n - 1) / bins, is below a prediction if this position is among the rows below it. Weights
    -- whose mean is below 1 are not counts, and n - 1 is the total without the mean weight.
    LEAST(GREATEST(CEIL(COALESCE(
        CAST(reached - mass AS DOUBLE) * $bins
            / NULLIF(GREATEST(
                total - LEAST(CAST(total AS DOUBLE) / NULLIF(total_predictions, 0), 1e0),
                0e0
            ), 0),
        0e0
    )) - 1e0, 0e0), $bins - 1e0) AS number
FROM prediction_ranks
