/*
summary: >-
  mean novelty of the items in the first k places of a list: the number of bits of their popularity; an
  item that is relevant for no list counts as relevant for one
formula: mean over lists of the mean of -log2(lists for which the item is relevant / lists with a relevant item)
direction: higher
range: 0 .. inf
across: query
reference: rectools.metrics.MeanInvUserFreq
aliases: [mean_inverse_user_frequency, miuf]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN MAX(most_copies) = 1 AND SUM(lists) > 0 AND SUM(places) > 0
        THEN GREATEST(
            (
                LN(SUM(lists))
                - CAST(SUM(places * LN(GREATEST(relevant_lists, 1))) AS DOUBLE)
                    / NULLIF(SUM(places), 0)
            ) / NULLIF(LN(2e0), 0),
            0e0
        )
    END AS value,
    CASE
        WHEN MAX(most_copies) > 1 THEN 'an item occurs twice in a list'
        WHEN COALESCE(SUM(places), 0) = 0 THEN 'no retrieved items'
        WHEN SUM(lists) = 0 THEN 'no relevant items'
    END AS note
FROM item_popularities
GROUP BY slice
