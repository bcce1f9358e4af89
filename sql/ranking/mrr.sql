/*
summary: one divided by the place of the first relevant item; 0 if it is not among the first k items
formula: 1 / place of the first relevant item
direction: higher
range: 0 .. 1
params:
  k: int in [1, inf) = null
reference: trec_eval (recip_rank); ties by McSherry and Najork (2008)
aliases: [mean_reciprocal_rank, reciprocal_rank]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN SUM(relevant) > 0
        THEN LEAST(
            SUM(
                CASE
                    WHEN place <= COALESCE($k, place)
                    THEN CAST(chance_of_first AS DOUBLE) / NULLIF(place, 0)
                    ELSE 0e0
                END
            ),
            1e0
        )
    END AS value,
    CASE WHEN SUM(relevant) = 0 THEN 'no relevant items' END AS note
FROM ranked_items
GROUP BY slice
