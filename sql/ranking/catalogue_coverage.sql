/*
summary: share of the items that are among the first k places of some list; ties count by expectation
formula: expected number of items in the first k places of some list / items of all lists, or `items`
direction: higher
range: 0 .. 1
params:
  items: int in [1, inf) = null
across: query
reference: recommenders' catalog_coverage
aliases: [catalog_coverage, item_coverage]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN MAX(most_copies) = 1 AND COUNT(*) <= COALESCE($items, COUNT(*))
        THEN CAST(SUM(chance) AS DOUBLE) / NULLIF(COALESCE($items, COUNT(*)), 0)
    END AS value,
    CASE
        WHEN MAX(most_copies) > 1 THEN 'an item occurs twice in a list'
        WHEN COUNT(*) > $items THEN 'the lists have more different items than items='
    END AS note
FROM item_exposures
GROUP BY slice
