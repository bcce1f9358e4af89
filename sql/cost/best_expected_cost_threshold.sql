/*
summary: >-
  highest threshold with the smallest expected cost; infinite where predicting nothing positive
  is best
formula: argmin over t of p FNR(t) cost_fn + (1 - p) FPR(t) cost_fp
direction: none
range: -inf .. inf
params:
  prior: float in (0, 1) = null
reference: sklearn.metrics.confusion_matrix_at_thresholds # argmin of the mean cost
weights: frequency
since: 0.1.0
*/
SELECT
    expected_costs.slice,
    -- Sums of real weights may differ in the last digit where they should be equal.
    CASE
        WHEN MAX(expected_costs.cost_of_nothing) <= MAX(optimum.best) * (1e0 + 1e-15)
        THEN CAST('Infinity' AS DOUBLE)
        ELSE MAX(CASE
            WHEN expected_costs.cost <= optimum.best * (1e0 + 1e-15)
            THEN CAST(expected_costs.score_low AS DOUBLE)
        END)
    END AS value,
    -- In a bin the best threshold is where all its positives come first, at best.
    CASE
        WHEN MAX(expected_costs.cost_of_nothing) <= MIN(expected_costs.least_cost)
        THEN CAST('Infinity' AS DOUBLE)
        ELSE MIN(CASE
            WHEN expected_costs.least_cost <= optimum.best * (1e0 + 1e-15)
            THEN CAST(expected_costs.score_low AS DOUBLE)
        END)
    END AS low,
    CASE
        WHEN MAX(expected_costs.cost_of_nothing) <= MAX(optimum.best) * (1e0 + 1e-15)
        THEN CAST('Infinity' AS DOUBLE)
        ELSE MAX(CASE
            WHEN expected_costs.least_cost <= optimum.best * (1e0 + 1e-15)
            THEN CAST(expected_costs.score_high AS DOUBLE)
        END)
    END AS high,
    CASE
        WHEN $prior IS NOT NULL AND MAX(expected_costs.total_positives) = 0 THEN 'no positive labels'
        WHEN $prior IS NOT NULL AND MAX(expected_costs.total_negatives) = 0 THEN 'no negative labels'
        WHEN COALESCE(MAX(expected_costs.total_positives + expected_costs.total_negatives), 0) = 0
            THEN 'total weight is 0'
    END AS note
FROM expected_costs
JOIN (
    SELECT
        slice,
        value AS best
    FROM best_expected_cost
) AS optimum USING (slice)
GROUP BY expected_costs.slice
