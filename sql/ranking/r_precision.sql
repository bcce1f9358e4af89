/*
summary: precision in as many places as there are relevant items
formula: relevant items in the first R places / R, R = number of relevant items
direction: higher
range: 0 .. 1
reference: trec_eval (Rprec); ties by McSherry and Najork (2008)
aliases: [rprec]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CAST(SUM(CASE WHEN place <= total_relevant THEN chance ELSE 0e0 END) AS DOUBLE)
        / NULLIF(SUM(relevant), 0) AS value,
    CASE WHEN SUM(relevant) = 0 THEN 'no relevant items' END AS note
FROM ranked_items
GROUP BY slice
