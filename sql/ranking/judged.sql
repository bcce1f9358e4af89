/*
summary: share of judged items among the first k places of a list
formula: judged items in the first k places / retrieved items in them
direction: none
range: 0 .. 1
params:
  k: int in [1, inf) = null
reference: ir_measures (Judged); ties by McSherry and Najork (2008)
aliases: [judged_at_k]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CAST(SUM(CASE WHEN place <= COALESCE($k, place) THEN mean_judged ELSE 0e0 END) AS DOUBLE)
        / NULLIF(SUM(CASE WHEN place <= COALESCE($k, place) THEN 1 ELSE 0 END), 0) AS value,
    CASE WHEN COUNT(place) = 0 THEN 'no retrieved items' END AS note
FROM ranked_items
GROUP BY slice
