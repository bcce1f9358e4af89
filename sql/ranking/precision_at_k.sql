/*
summary: share of relevant items among the first k places of a list, empty places included
formula: relevant items in the first k places / k; without k, k = number of retrieved items
direction: higher
range: 0 .. 1
params:
  k: int in [1, inf) = null
reference: trec_eval (P); ties by McSherry and Najork (2008)
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN SUM(relevant) > 0
        THEN CAST(SUM(CASE WHEN place <= COALESCE($k, place) THEN chance ELSE 0e0 END) AS DOUBLE)
            -- Nothing is right in a list without items.
            / NULLIF(COALESCE($k, GREATEST(COUNT(place), 1)), 0)
    END AS value,
    CASE WHEN SUM(relevant) = 0 THEN 'no relevant items' END AS note
FROM ranked_items
GROUP BY slice
