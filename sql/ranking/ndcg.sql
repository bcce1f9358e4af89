/*
summary: >-
  discounted cumulative gain of one ranked list, divided by the gain of the best order; ties share
  their mean gain
formula: >-
  DCG / ideal DCG, DCG = sum of gain / log2(place + 1) over the first k places, gain = relevance, or
  2^relevance - 1 with gain='exponential'
direction: higher
range: 0 .. 1
params:
  k: int in [1, inf) = null
  gain: str in {linear, exponential} = linear
reference: sklearn.metrics.ndcg_score
aliases: [ndcg_score, normalized_discounted_cumulative_gain]
task: ranking
weights: none
since: 0.1.0
version: 2
*/
SELECT
    slice,
    CASE
        -- A power above 2^1023 is infinite, and an error in PostgreSQL.
        WHEN $gain = 'exponential' AND MAX(relevance) > 1e3 THEN NULL
        ELSE CAST(
            SUM(
                CASE
                    WHEN place <= COALESCE($k, place)
                    THEN CASE WHEN $gain = 'exponential' THEN mean_power ELSE mean_relevance END
                        * LN(2e0) / LN(place + 1e0)
                    ELSE 0e0
                END
            ) AS DOUBLE
        ) / NULLIF(
            SUM(
                CASE
                    WHEN ideal_place <= COALESCE($k, ideal_place)
                    THEN CASE
                            WHEN $gain = 'exponential' THEN POWER(2e0, LEAST(relevance, 1e3)) - 1e0
                            ELSE relevance
                        END
                        * LN(2e0) / LN(ideal_place + 1e0)
                    ELSE 0e0
                END
            ),
            0
        )
    END AS value,
    CASE
        WHEN SUM(relevant) = 0 THEN 'no relevant items'
        WHEN $gain = 'exponential' AND MAX(relevance) > 1e3
        THEN 'a relevance above 1000 has no exponential gain'
    END AS note
FROM ranked_items
GROUP BY slice
