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
version: 2
*/
SELECT
    slice,
    CAST(SUM(gain * discount) AS DOUBLE) / NULLIF(SUM(ideal), 0) AS value,
    CASE WHEN COALESCE(SUM(ideal), 0) = 0 THEN 'no relevant items' END AS note
FROM (
    SELECT
        slice,
        score,
        AVG(relevance) AS gain,
        -- Without a score, an item was not retrieved: it has no place, but counts as relevant.
        SUM(CASE WHEN score IS NOT NULL AND ($k IS NULL OR place <= $k)
            THEN LN(2e0) / LN(place + 1e0) ELSE 0 END) AS discount,
        SUM(CASE WHEN $k IS NULL OR ideal_place <= $k
            THEN relevance * LN(2e0) / LN(ideal_place + 1e0) ELSE 0 END) AS ideal
    FROM (
        SELECT
            slice,
            score,
            relevance,
            -- A partition of their own: engines differ in where they sort NULLs.
            ROW_NUMBER() OVER (PARTITION BY slice, is_retrieved ORDER BY score DESC) AS place,
            ROW_NUMBER() OVER (PARTITION BY slice ORDER BY relevance DESC) AS ideal_place
        FROM (
            SELECT
                slice,
                score,
                -- Without a label, an item was not judged; it keeps its place.
                COALESCE(label, 0e0) AS relevance,
                CASE WHEN score IS NULL THEN 0 ELSE 1 END AS is_retrieved
            FROM predictions
        ) AS items
    ) AS placed
    GROUP BY
        slice,
        score
) AS ties
GROUP BY slice
