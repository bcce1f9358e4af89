/*
summary: share of the relevant items that are in the first k places of a list
formula: relevant items in the first k places / relevant items
direction: higher
range: 0 .. 1
params:
  k: int in [1, inf) = null
reference: trec_eval (recall); ties by McSherry and Najork (2008)
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CAST(SUM(CASE WHEN place <= COALESCE($k, place) THEN chance ELSE 0e0 END) AS DOUBLE)
        / NULLIF(SUM(relevant), 0) AS value,
    CASE WHEN SUM(relevant) = 0 THEN 'no relevant items' END AS note
FROM ranked_items
GROUP BY slice
