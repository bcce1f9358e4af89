/*
summary: items of each ranked list, with their places and the items that have the same score
params:
  min_relevance: float in (0, inf) = null
*/
SELECT
    slice,
    relevance,
    relevant,
    is_judged,
    -- An item that was not retrieved has no place.
    CASE WHEN is_retrieved = 1 THEN row_place END AS place,
    first_place,
    tied,
    tied_relevant,
    tied_irrelevant,
    reached_relevant - tied_relevant AS relevant_above,
    reached_irrelevant - tied_irrelevant AS irrelevant_above,
    total_relevant,
    total_irrelevant,
    mean_relevance,
    mean_power,
    mean_judged,
    ideal_place,
    -- The probability that the item at this place is relevant: every order of tied items is
    -- equally probable (McSherry and Najork 2008).
    CAST(tied_relevant AS DOUBLE) / NULLIF(tied, 0) AS chance,
    -- The probability that it is the first relevant item. Only the tie with the first relevant item
    -- counts, and there only places that leave room for its relevant items.
    CASE
        WHEN reached_relevant > tied_relevant OR remaining < tied_relevant THEN 0e0
        ELSE CAST(tied_relevant AS DOUBLE) / NULLIF(remaining, 0)
            -- EXP underflows below -745, which is an error in PostgreSQL.
            * EXP(
                GREATEST(
                    SUM(log_of_none) OVER (
                        PARTITION BY slice
                        ORDER BY row_place
                        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                    ) - log_of_none,
                    -7e2
                )
            )
    END AS chance_of_first
FROM (
    SELECT
        slice,
        relevance,
        relevant,
        is_judged,
        is_retrieved,
        row_place,
        first_place,
        tied,
        tied_relevant,
        tied_irrelevant,
        reached_relevant,
        reached_irrelevant,
        total_relevant,
        total_irrelevant,
        mean_relevance,
        mean_power,
        mean_judged,
        ideal_place,
        -- The tied items that do not come before this place.
        tied - (row_place - first_place) AS remaining,
        -- The logarithm of the probability that the one at this place is not relevant, if none
        -- of those before it is.
        CASE
            WHEN tied - (row_place - first_place) > tied_relevant
            THEN LN(
                CAST(tied - (row_place - first_place) - tied_relevant AS DOUBLE)
                    / NULLIF(tied - (row_place - first_place), 0)
            )
            ELSE 0e0
        END AS log_of_none
    FROM (
        SELECT
            slice,
            relevance,
            relevant,
            is_judged,
            is_retrieved,
            -- Engines differ in where they sort NULLs, so items without a score come last by a
            -- key of their own. Windows with one order share one sort.
            ROW_NUMBER() OVER (
                PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
            ) AS row_place,
            RANK() OVER (
                PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
            ) AS first_place,
            COUNT(*) OVER (
                PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            ) AS tied,
            SUM(relevant) OVER (
                PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            ) AS tied_relevant,
            SUM(irrelevant) OVER (
                PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            ) AS tied_irrelevant,
            SUM(relevant) OVER (
                PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
            ) AS reached_relevant,
            SUM(irrelevant) OVER (
                PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
            ) AS reached_irrelevant,
            SUM(relevant) OVER (PARTITION BY slice) AS total_relevant,
            SUM(irrelevant) OVER (PARTITION BY slice) AS total_irrelevant,
            AVG(relevance) OVER (
                PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            ) AS mean_relevance,
            AVG(POWER(2e0, LEAST(relevance, 1e3)) - 1e0) OVER (
                PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            ) AS mean_power,
            AVG(is_judged) OVER (
                PARTITION BY slice ORDER BY is_retrieved DESC, score DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            ) AS mean_judged,
            ROW_NUMBER() OVER (PARTITION BY slice ORDER BY relevance DESC) AS ideal_place
        FROM (
            SELECT
                slice,
                score,
                relevance,
                is_retrieved,
                is_judged,
                CASE WHEN relevance > 0 THEN 1e0 ELSE 0e0 END AS relevant,
                CASE WHEN is_judged = 1 AND relevance = 0 THEN 1e0 ELSE 0e0 END AS irrelevant
            FROM (
                SELECT
                    slice,
                    score,
                    CASE WHEN score IS NULL THEN 0 ELSE 1 END AS is_retrieved,
                    CASE WHEN label IS NULL THEN 0e0 ELSE 1e0 END AS is_judged,
                    -- An item that was not judged has the relevance 0.
                    CASE
                        WHEN label >= COALESCE($min_relevance, label) THEN CAST(label AS DOUBLE)
                        ELSE 0e0
                    END AS relevance
                FROM predictions
            ) AS items
        ) AS judged_items
    ) AS placed
) AS chances
