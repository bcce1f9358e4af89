/*
summary: >-
  mean popularity of the items in the first k places of a list; an item is as popular as the share of
  lists for which it is relevant
formula: mean over lists of the mean of (lists for which the item is relevant / lists with a relevant item)
direction: none
range: 0 .. 1
across: query
reference: rectools.metrics.AvgRecPopularity, divided by the number of users
aliases: [average_popularity, arp]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN MAX(most_copies) = 1
        THEN CAST(SUM(places * relevant_lists) AS DOUBLE) / NULLIF(SUM(places) * SUM(lists), 0)
    END AS value,
    CASE
        WHEN MAX(most_copies) > 1 THEN 'an item occurs twice in a list'
        WHEN COALESCE(SUM(places), 0) = 0 THEN 'no retrieved items'
        WHEN SUM(lists) = 0 THEN 'no relevant items'
    END AS note
FROM item_popularities
GROUP BY slice
