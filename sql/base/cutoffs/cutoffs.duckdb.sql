/*
summary: >-
  cutoffs with one unit per row: two ranks give tp and fp at each row's score, ties included; faster
  than grouping when scores are distinct
when: unweighted rows
*/
SELECT
    slice,
    score AS score_low,
    score AS score_high,
    label AS positives,
    1 - label AS negatives,
    label AS positive_squares,
    1 - label AS negative_squares,
    -- Rows at or above a score are all rows except those with a lower rank.
    CASE
        WHEN label = 1 THEN total_positives - own_rank + 1
        ELSE total_positives - (rank_among_all - own_rank)
    END AS tp,
    CASE
        WHEN label = 1 THEN total_negatives - (rank_among_all - own_rank)
        ELSE total_negatives - own_rank + 1
    END AS fp,
    CASE
        WHEN label = 1 THEN total_negatives - (rank_among_all - own_rank)
        ELSE total_negatives - own_rank + 1
    END AS fp_at_best,
    CASE
        WHEN label = 1 THEN total_positives - own_rank + 1
        ELSE total_positives - (rank_among_all - own_rank)
    END AS tp_squares,
    CASE
        WHEN label = 1 THEN total_negatives - (rank_among_all - own_rank)
        ELSE total_negatives - own_rank + 1
    END AS fp_squares,
    total_positives,
    total_negatives
FROM ranks
JOIN totals USING (slice)
