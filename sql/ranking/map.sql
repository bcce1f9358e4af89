/*
summary: >-
  mean over the relevant items of a list of the precision at their places; an item after the first k
  places, or not retrieved, counts 0
formula: >-
  sum of precision at the place of each relevant item within the first k places / relevant items, or
  with normalize='k' / min(k, relevant items)
direction: higher
range: 0 .. 1
params:
  k: int in [1, inf) = null
  normalize: str in {relevant, k} = relevant
reference: trec_eval (map, map_cut); ties by McSherry and Najork (2008)
aliases: [mean_average_precision, map_at_k]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CAST(
        SUM(
            CASE
                WHEN place <= COALESCE($k, place)
                -- With a relevant item at this place, so many are expected up to here: those above
                -- the tie, the item itself, and its share of the others in the tie.
                THEN chance
                    * (
                        relevant_above + 1e0
                        + (place - first_place) * CAST(tied_relevant - 1e0 AS DOUBLE)
                            / NULLIF(GREATEST(tied - 1e0, 1e0), 0)
                    )
                    / NULLIF(CAST(place AS DOUBLE), 0)
                ELSE 0e0
            END
        ) AS DOUBLE
    ) / NULLIF(
        CASE WHEN $normalize = 'k' AND SUM(relevant) > $k THEN $k ELSE SUM(relevant) END,
        0
    ) AS value,
    CASE WHEN SUM(relevant) = 0 THEN 'no relevant items' END AS note
FROM ranked_items
GROUP BY slice
