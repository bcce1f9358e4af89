/*
summary: harmonic mean of precision and recall in the first k places of a list
formula: 2 * relevant items in the first k places / (k + relevant items)
direction: higher
range: 0 .. 1
params:
  k: int in [1, inf) = null
reference: ranx.metrics.f1; ties by McSherry and Najork (2008)
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN SUM(relevant) > 0
        THEN 2e0 * SUM(CASE WHEN place <= COALESCE($k, place) THEN chance ELSE 0e0 END)
            / NULLIF(COALESCE($k, COUNT(place)) + SUM(relevant), 0)
    END AS value,
    CASE WHEN SUM(relevant) = 0 THEN 'no relevant items' END AS note
FROM ranked_items
GROUP BY slice
