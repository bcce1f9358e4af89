/*
summary: >-
  discounted cumulative gain of one ranked list, divided by the gain of the best order; ties share
  their mean gain
formula: DCG / ideal DCG, DCG = sum of relevance / log2(rank + 1) over the first k ranks
direction: higher
range: 0 .. 1
params:
  k: int in [1, inf) = null
reference: sklearn.metrics.ndcg_score
aliases: [ndcg_score, normalized_discounted_cumulative_gain]
task: ranking
weights: none
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(gain * discount) AS DOUBLE) / NULLIF(SUM(ideal), 0) AS value,
    CASE WHEN COALESCE(SUM(ideal), 0) = 0 THEN 'no relevant items' END AS note
FROM (
    SELECT
        slice,
        score,
        AVG(label) AS gain,
        SUM(CASE WHEN $k IS NULL OR place <= $k THEN LN(2e0) / LN(place + 1e0) ELSE 0 END)
            AS discount,
        SUM(CASE WHEN $k IS NULL OR ideal_place <= $k
            THEN label * LN(2e0) / LN(ideal_place + 1e0) ELSE 0 END) AS ideal
    FROM (
        SELECT
            slice,
            score,
            label,
            ROW_NUMBER() OVER (PARTITION BY slice ORDER BY score DESC) AS place,
            ROW_NUMBER() OVER (PARTITION BY slice ORDER BY label DESC) AS ideal_place
        FROM predictions
    ) AS placed
    GROUP BY
        slice,
        score
) AS ties
GROUP BY slice
