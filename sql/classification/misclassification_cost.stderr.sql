/*
summary: standard error of a mean of costs, linearised for weights
*/
SELECT
    slice,
    -- The standard error of a mean of costs, linearised for weights: the sum of w^2 (cost -
    -- mean)^2. Sums of whole numbers are exact, so the standard error is 0 if all costs are equal.
    CASE WHEN SUM(unpriced) <= 1e-13 * SUM(total) THEN 1e0 END * SQRT(
        GREATEST(
            SUM(squared_costs) - CAST(SUM(total_cost) AS DOUBLE) / NULLIF(SUM(total), 0) * (
                2e0 * SUM(cost_squares)
                - CAST(SUM(total_cost) AS DOUBLE) / NULLIF(SUM(total), 0) * SUM(n_squares)
            ),
            0e0
        )
    ) / NULLIF(SUM(total), 0) AS stderr,
    -- Kish's effective number of rows with a cost.
    POWER(CAST(SUM(total_cost) AS DOUBLE), 2) / NULLIF(SUM(squared_costs), 0) AS support
FROM (
    SELECT
        slice,
        0e0 AS total_cost,
        0e0 AS cost_squares,
        0e0 AS squared_costs,
        n AS total,
        n_squares,
        CASE WHEN label = prediction THEN 0 ELSE n END AS unpriced
    FROM decision_counts
    UNION ALL
    SELECT
        decision_counts.slice,
        decision_counts.n * cost_matrix.cost AS total_cost,
        decision_counts.n_squares * cost_matrix.cost AS cost_squares,
        decision_counts.n_squares * cost_matrix.cost * cost_matrix.cost AS squared_costs,
        0 AS total,
        0 AS n_squares,
        CASE
            WHEN decision_counts.label = decision_counts.prediction THEN 0
            ELSE -decision_counts.n
        END AS unpriced
    FROM decision_counts
    JOIN cost_matrix USING (label, prediction)
) AS cells
GROUP BY slice
