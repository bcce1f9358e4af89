/*
summary: >-
  segments from the ranks that cutoffs uses as well; of the rows that share a score, the last one
  makes the step
when: unweighted rows
*/
SELECT
    slice,
    CAST(score AS DOUBLE) AS threshold,
    tp,
    fp,
    CASE WHEN is_last = 1 THEN tp_past ELSE tp END AS tp_above,
    CASE WHEN is_last = 1 THEN fp_past ELSE fp END AS fp_above,
    0 AS is_spread,
    tp AS tp_squares,
    fp AS fp_squares,
    CASE WHEN is_last = 1 THEN tp_past ELSE tp END AS tp_squares_above,
    CASE WHEN is_last = 1 THEN fp_past ELSE fp END AS fp_squares_above,
    total_positives,
    total_negatives
FROM (
    SELECT
        slice,
        score,
        total_positives,
        total_negatives,
        CASE WHEN next_score = score THEN 0 ELSE 1 END AS is_last,
        -- Rows at or above a score are all rows but those with a lower rank.
        CASE
            WHEN label = 1 THEN total_positives - own_rank + 1
            ELSE total_positives - (rank_among_all - own_rank)
        END AS tp,
        CASE
            WHEN label = 1 THEN total_negatives - (rank_among_all - own_rank)
            ELSE total_negatives - own_rank + 1
        END AS fp,
        -- Rows above a score are all rows but those with this score or a lower one.
        CASE
            WHEN label = 1 THEN total_positives - own_reached
            ELSE total_positives - (place - own_reached)
        END AS tp_past,
        CASE
            WHEN label = 1 THEN total_negatives - (place - own_reached)
            ELSE total_negatives - own_reached
        END AS fp_past
    FROM ranks
    JOIN totals USING (slice)
) AS placed
