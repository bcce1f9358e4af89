/*
summary: share of lists with a relevant item in the first k places
formula: 1 if a relevant item is in the first k places, else 0
direction: higher
range: 0 .. 1
params:
  k: int in [1, inf) = null
reference: trec_eval (success); ties by McSherry and Najork (2008)
aliases: [success, success_rate]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN SUM(relevant) > 0
        THEN LEAST(
            SUM(CASE WHEN place <= COALESCE($k, place) THEN chance_of_first ELSE 0e0 END),
            1e0
        )
    END AS value,
    CASE WHEN SUM(relevant) = 0 THEN 'no relevant items' END AS note
FROM ranked_items
GROUP BY slice
