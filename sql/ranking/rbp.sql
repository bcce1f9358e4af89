/*
summary: >-
  rank-biased precision: share of relevant items among those read by a reader who goes on to the next
  one with probability p
formula: (1 - p) * sum of p^(place - 1) over the relevant items
direction: higher
range: 0 .. 1
params:
  p: float in (0, 1) = 0.8
reference: Moffat and Zobel (2008); ties by McSherry and Najork (2008)
aliases: [rank_biased_precision]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN SUM(relevant) > 0
        THEN (1e0 - $p) * SUM(
            CASE
                -- A power below 1e-308 is an error in PostgreSQL.
                WHEN place >= 1 AND (place - 1e0) * LN($p) > -7e2
                THEN chance * POWER($p, place - 1e0)
                ELSE 0e0
            END
        )
    END AS value,
    CASE WHEN SUM(relevant) = 0 THEN 'no relevant items' END AS note
FROM ranked_items
GROUP BY slice
