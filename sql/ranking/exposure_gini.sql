/*
summary: >-
  Gini coefficient of the number of lists that have an item among their first k places: 0 if all items
  are recommended equally often, near 1 if few items get all places; ties count by expectation
formula: sum of (2 i - n - 1) x_i / (n * sum of x_i), x_i ascending, n = items of all lists, or `items`
direction: lower
range: 0 .. 1
params:
  items: int in [1, inf) = null
across: query
reference: RecBole's GiniIndex
aliases: [gini_index]
task: ranking
weights: none
since: 0.2.0
*/
SELECT
    slice,
    CASE
        WHEN MAX(largest_copies) = 1
            AND MAX(n_items) <= COALESCE($items, MAX(n_items))
            AND SUM(same * exposure) > 0
        THEN GREATEST(
            CAST(
                SUM(
                    -- The m items of one exposure have the places from a + 1 to a + m: the sum of
                    -- 2 i - n - 1 over them is m (2 a + m - n). Items beyond the input come first.
                    same * exposure
                        * (
                            2e0 * (reached - same) + same
                            + (COALESCE($items, n_items) - n_items) - n_items
                        )
                ) AS DOUBLE
            ) / NULLIF(MAX(COALESCE($items, n_items)) * SUM(same * exposure), 0),
            0e0
        )
    END AS value,
    CASE
        WHEN MAX(largest_copies) > 1 THEN 'an item occurs twice in a list'
        WHEN MAX(n_items) > $items THEN 'the lists have more different items than items='
        WHEN SUM(same * exposure) = 0 THEN 'no retrieved items'
    END AS note
FROM (
    SELECT
        slice,
        exposure,
        same,
        largest_copies,
        SUM(same) OVER (PARTITION BY slice ORDER BY exposure) AS reached,
        SUM(same) OVER (PARTITION BY slice) AS n_items
    FROM (
        SELECT
            slice,
            exposure,
            COUNT(*) AS same,
            MAX(most_copies) AS largest_copies
        FROM item_exposures
        GROUP BY
            slice,
            exposure
    ) AS exposures
) AS ordered
GROUP BY slice
