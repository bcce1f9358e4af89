/*
summary: probability that a positive scores above a negative, ties counting one half
formula: "(#(s+ > s-) + #(s+ = s-) / 2) / (P N)"
direction: higher
range: 0 .. 1
reference: sklearn.metrics.roc_auc_score
task: two classes
weights: none
bound: pairs
since: 0.2.0
when: unweighted rows
*/
-- For each positive, `below` counts the negatives with a lower score, and `reached` the negatives
-- with a lower or equal score; their sum is twice its number of ordered pairs. DeLong, DeLong and
-- Clarke-Pearson (1988) take the variance of this number over the positives, and of the same number
-- over the negatives. The latter needs no row per negative: the sum of squares over the negatives
-- is the sum, over all pairs of positives, of the negatives below both. These are the negatives
-- below the lower positive, so each positive counts once for each positive not below it. All sums
-- are whole numbers: HUGEINT holds them without rounding for up to 5e9 rows in a slice.
SELECT
    slice,
    CAST(won AS DOUBLE) / NULLIF(2e0 * positives * negatives, 0) AS value,
    -- Twice the numbers of pairs have four times the variance.
    SQRT(
        CAST(positives * positive_squares - won * won AS DOUBLE)
            / NULLIF(4e0 * POWER(CAST(positives AS DOUBLE) * negatives, 2) * (positives - 1), 0)
        + CAST(negatives * negative_squares - won * won AS DOUBLE)
            / NULLIF(4e0 * POWER(CAST(positives AS DOUBLE) * negatives, 2) * (negatives - 1), 0)
    ) AS stderr,
    LEAST(positives, negatives) AS pairs,
    CASE
        WHEN COALESCE(positives, 0) = 0 THEN 'no positive labels'
        WHEN negatives = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        positives,
        last_place - positives AS negatives,
        below + reached AS won,
        positive_squares,
        (4 * positives + 3) * below + (4 * positives + 1) * reached - 2 * shared
            AS negative_squares
    FROM (
        SELECT
            slice,
            CAST(SUM(label) AS HUGEINT) AS positives,
            MAX(place) AS last_place,
            COALESCE(SUM(CASE WHEN label = 1 THEN lower_negatives END), 0) AS below,
            COALESCE(SUM(CASE WHEN label = 1 THEN reached_negatives END), 0) AS reached,
            COALESCE(SUM(CASE WHEN label = 1 THEN
                CAST(lower_negatives + reached_negatives AS HUGEINT)
                * (lower_negatives + reached_negatives) END), 0) AS positive_squares,
            COALESCE(SUM(CASE WHEN label = 1 THEN
                CAST(lower_negatives AS HUGEINT) * (own_place + own_rank)
                + CAST(reached_negatives AS HUGEINT) * (3 * own_place - own_rank)
            END), 0) AS shared
        FROM (
            SELECT
                slice,
                label,
                place,
                own_rank,
                own_place,
                rank_among_all - own_rank AS lower_negatives,
                place - own_place AS reached_negatives
            FROM positive_ranks
        ) AS counted
        GROUP BY slice
    ) AS sums
) AS totals
