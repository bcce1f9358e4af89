/*
summary: >-
  highest threshold with the smallest expected cost; infinite if predicting nothing positive is best
formula: argmin over t of p FNR(t) cost_fn + (1 - p) FPR(t) cost_fp
direction: none
range: -inf .. inf
params:
  prior: float in (0, 1) = null
reference: sklearn.metrics.confusion_matrix_at_thresholds # argmin of the mean cost
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    -- Sums of real-valued weights that should be equal may differ in the last digit.
    CASE
        WHEN MAX(cost_of_nothing) <= MAX(best) * (1e0 + 1e-15) THEN CAST('Infinity' AS DOUBLE)
        ELSE MAX(CASE WHEN reached <= best * (1e0 + 1e-15) THEN lowest END)
    END AS value,
    -- Bounds for bins: a bin reaches the most if all its positives come first.
    CASE
        WHEN MAX(cost_of_nothing) <= MIN(reachable) THEN CAST('Infinity' AS DOUBLE)
        ELSE MIN(CASE WHEN reachable <= best * (1e0 + 1e-15) THEN lowest END)
    END AS low,
    CASE
        WHEN MAX(cost_of_nothing) <= MAX(best) * (1e0 + 1e-15) THEN CAST('Infinity' AS DOUBLE)
        ELSE MAX(CASE WHEN reachable <= best * (1e0 + 1e-15) THEN highest END)
    END AS high,
    CASE
        WHEN $prior IS NOT NULL AND MAX(total_positives) = 0 THEN 'no positive labels'
        WHEN $prior IS NOT NULL AND MAX(total_negatives) = 0 THEN 'no negative labels'
        WHEN COALESCE(MAX(total_positives + total_negatives), 0) = 0 THEN 'total weight is 0'
    END AS note
FROM (
    SELECT
        expected_costs.slice,
        CAST(expected_costs.score_low AS DOUBLE) AS lowest,
        CAST(expected_costs.score_high AS DOUBLE) AS highest,
        expected_costs.cost AS reached,
        expected_costs.least_cost AS reachable,
        expected_costs.cost_of_nothing,
        expected_costs.total_positives,
        expected_costs.total_negatives,
        optimum.best
    FROM expected_costs
    JOIN (
        SELECT
            slice,
            value AS best
        FROM best_expected_cost
    ) AS optimum USING (slice)
) AS measured
GROUP BY slice
