/*
summary: >-
  expected reciprocal rank: mean of 1 / place where a reader stops, who is satisfied by an item with a
  probability that grows with its grade
formula: >-
  sum over the first k places of R / place * product of (1 - R) over the places before,
  R = (2^relevance - 1) / 2^largest
direction: higher
range: 0 .. 1
params:
  k: int in [1, inf) = null
  largest: int in [1, 50] = 4
reference: Chapelle, Metlzer, Zhang and Grinspan (2009), gdeval (err); ties by McSherry and Najork (2008)
aliases: [expected_reciprocal_rank]
task: ranking
weights: none
since: 0.2.0
repeat: 7
*/
WITH items AS (
    SELECT
        slice,
        relevance,
        relevant,
        place,
        first_place,
        tied,
        grade,
        number,
        log_of_rest,
        MAX(grade) OVER (PARTITION BY slice, first_place) AS n_grades,
        COUNT(*) OVER (PARTITION BY slice, first_place, relevance) AS n_of_grade,
        -- The places of the tie that count.
        LEAST(tied, COALESCE($k, first_place + tied) - first_place + 1) AS n_places,
        -- The logarithm of the probability that the reader reaches the tie.
        SUM(log_of_rest) OVER (PARTITION BY slice ORDER BY first_place)
        - SUM(log_of_rest) OVER (PARTITION BY slice, first_place) AS log_before
    FROM (
        SELECT
            slice,
            relevance,
            relevant,
            place,
            first_place,
            tied,
            number,
            SUM(CASE WHEN number = 1 THEN 1 ELSE 0 END) OVER (
                PARTITION BY slice, first_place ORDER BY relevance
            ) AS grade,
            -- The logarithm of 1 - R.
            LN(
                1e0 - (POWER(2e0, LEAST(relevance, CAST($largest AS DOUBLE))) - 1e0)
                    / NULLIF(POWER(2e0, CAST($largest AS DOUBLE)), 0)
            ) AS log_of_rest
        FROM (
            SELECT
                slice,
                relevance,
                relevant,
                place,
                first_place,
                tied,
                ROW_NUMBER() OVER (
                    PARTITION BY slice, first_place, relevance ORDER BY place
                ) AS number
            FROM ranked_items
        ) AS numbered
    ) AS graded
),
terms AS (
    -- The elementary symmetric polynomial of degree `taken` of the items of one grade in a tie: the
    -- number of ways to take so many of them, times the product of their 1 - R.
    SELECT
        slice,
        first_place,
        tied,
        n_places,
        chance_before,
        turn,
        LEAST(turn, n_grades) + 1 AS next_turn,
        taken,
        CASE WHEN taken > 0 THEN EXP(GREATEST(log_of_term, -2e2)) ELSE 1e0 END AS term
    FROM (
        SELECT
            slice,
            first_place,
            tied,
            n_grades,
            n_places,
            EXP(GREATEST(log_before, -2e2)) AS chance_before,
            -- Beside the rows themselves: none of the grade is taken, and the end of the grades.
            grade + CASE WHEN side = 2 THEN 1 ELSE 0 END AS turn,
            CASE WHEN side = 1 THEN number ELSE 0 END AS taken,
            log_of_term
        FROM (
            SELECT
                slice,
                first_place,
                tied,
                n_grades,
                n_places,
                log_before,
                grade,
                number,
                number * log_of_rest
                + SUM(LN((n_of_grade - number + 1e0) / NULLIF(number, 0))) OVER (
                    PARTITION BY slice, first_place, grade
                    ORDER BY number
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) AS log_of_term
            FROM items
            WHERE
                place >= 1
                AND n_grades > 1
                AND n_grades <= 8
                -- There are less than 1e300 ways.
                AND (tied <= 1000 OR (tied <= 1000000 AND n_places <= 50))
        ) AS logarithms
        CROSS JOIN (VALUES (0), (1), (2)) AS sides(side)
        WHERE
            (side = 1 AND number <= n_places)
            OR (side = 0 AND number = 1)
            OR (side = 2 AND number = 1 AND grade = n_grades)
    ) AS turns
),
lowest AS (
    SELECT
        slice,
        first_place,
        tied,
        n_places,
        next_turn AS turn,
        taken,
        chance_before * term AS total
    FROM terms
    WHERE turn = 1
),
polynomials AS (
    -- The polynomial of the grades up to here times that of the next grade. A tie without a next
    -- grade stays as it is.
    SELECT
        slice,
        first_place,
        tied,
        n_places,
        next_turn AS turn,
        all_taken AS taken,
        SUM(product) AS total
    FROM (
        SELECT
            slice,
            below.first_place,
            below.tied,
            below.n_places,
            above.next_turn,
            below.taken + above.taken AS all_taken,
            -- A product below 1e-308 is an error in PostgreSQL.
            CASE WHEN below.total > 1e-150 THEN below.total * above.term ELSE 0e0 END AS product
        FROM lowest AS below
        JOIN terms AS above USING (slice, first_place, turn)
    ) AS products
    WHERE all_taken <= n_places
    GROUP BY
        slice,
        first_place,
        tied,
        n_places,
        next_turn,
        all_taken
)
SELECT
    slice,
    CASE
        WHEN SUM(relevant) > 0 AND SUM(is_above) = 0 AND SUM(is_mixed) = 0 THEN SUM(part)
    END AS value,
    CASE
        WHEN SUM(relevant) = 0 THEN 'no relevant items'
        WHEN SUM(is_above) > 0 THEN 'a relevance is above largest'
        WHEN SUM(is_mixed) > 0
        THEN 'a tie has more than 8 grades, or more than 1000 items of several'
    END AS note
FROM (
    SELECT
        slice,
        relevant,
        CASE WHEN relevance > $largest THEN 1 ELSE 0 END AS is_above,
        CASE
            WHEN place IS NULL OR n_grades = 1 OR n_places < 1 THEN 0
            WHEN n_grades > 8 OR tied > 1000000 OR (tied > 1000 AND n_places > 50) THEN 1
            ELSE 0
        END AS is_mixed,
        -- Tied items of one grade: each order is the same.
        CASE
            WHEN n_grades = 1 AND place <= COALESCE($k, place)
            THEN EXP(GREATEST(log_before + (place - first_place) * log_of_rest, -6e2))
                * (1e0 - EXP(log_of_rest))
                / NULLIF(CAST(place AS DOUBLE), 0)
            ELSE 0e0
        END AS part
    FROM items
    UNION ALL
    -- Ties of several grades. After t of n tied items, the reader is still there with the
    -- probability E(t) = polynomial of degree t / (n over t), and stops at the next item with
    -- E(t) - E(t + 1). The sum over the places is written by t.
    SELECT
        slice,
        0e0 AS relevant,
        0 AS is_above,
        0 AS is_mixed,
        EXP(GREATEST(log_of_total - log_of_ways, -6e2))
            * (
                CASE
                    WHEN taken < n_places THEN 1e0 / NULLIF(CAST(first_place + taken AS DOUBLE), 0)
                    ELSE 0e0
                END
                - CASE
                    WHEN taken > 0 THEN 1e0 / NULLIF(first_place + taken - 1e0, 0)
                    ELSE 0e0
                END
            ) AS part
    FROM (
        SELECT
            slice,
            first_place,
            n_places,
            taken,
            LN(total) AS log_of_total,
            SUM(CASE WHEN taken > 0 THEN LN((tied - taken + 1e0) / NULLIF(taken, 0)) ELSE 0e0 END) OVER (
                PARTITION BY slice, first_place
                ORDER BY taken
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS log_of_ways
        FROM polynomials
        WHERE total > 0
    ) AS expected
) AS parts
GROUP BY slice
