/*
summary: discounted cumulative gain of a list; ties share their mean gain
formula: >-
  sum of gain / log2(place + 1) over the first k places, gain = relevance, or
  2^relevance - 1 with gain='exponential'
direction: higher
range: 0 .. inf
params:
  k: int in [1, inf) = null
  gain: str in {linear, exponential} = linear
reference: sklearn.metrics.dcg_score
aliases: [dcg_score, discounted_cumulative_gain]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CASE
        -- A power above 2^1023 is infinite, and an error in PostgreSQL.
        WHEN $gain = 'exponential' AND MAX(relevance) > 1e3 THEN NULL
        WHEN SUM(relevant) > 0
        THEN SUM(
            CASE
                WHEN place <= COALESCE($k, place)
                THEN CASE WHEN $gain = 'exponential' THEN mean_power ELSE mean_relevance END
                    * LN(2e0) / LN(place + 1e0)
                ELSE 0e0
            END
        )
    END AS value,
    CASE
        WHEN SUM(relevant) = 0 THEN 'no relevant items'
        WHEN $gain = 'exponential' AND MAX(relevance) > 1e3
        THEN 'a relevance above 1000 has no exponential gain'
    END AS note
FROM ranked_items
GROUP BY slice
