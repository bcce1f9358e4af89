/*
summary: items of all lists, with the expected number of lists that have them among the first k places
across: query
*/
SELECT
    slice,
    item,
    SUM(share) AS exposure,
    MAX(copies) AS most_copies,
    -- The probability that the item is recommended in some list. Lists do not depend on each other.
    1e0 - EXP(
        GREATEST(
            SUM(CASE WHEN share < 1 THEN LN(1e0 - share) ELSE -7e2 END),
            -7e2
        )
    ) AS chance
FROM recommended_items
GROUP BY
    slice,
    item
