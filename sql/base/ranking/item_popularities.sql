/*
summary: >-
  items of all lists, with the number of lists for which they are relevant, and their share of the
  places of lists
params:
  min_relevance: float in (0, inf) = null
across: query
*/
SELECT
    slice,
    item,
    MAX(copies) AS most_copies,
    SUM(CAST(share AS DOUBLE) / NULLIF(n_recommended, 0)) AS places,
    SUM(
        CASE WHEN label > 0 AND label >= COALESCE($min_relevance, label) THEN 1 ELSE 0 END
    ) AS relevant_lists,
    -- Each list with a relevant item counts once, at its first row.
    SUM(
        CASE
            WHEN place_of_row = 1
                AND highest_label > 0
                AND highest_label >= COALESCE($min_relevance, highest_label)
            THEN 1
            ELSE 0
        END
    ) AS lists
FROM recommended_items
GROUP BY
    slice,
    item
