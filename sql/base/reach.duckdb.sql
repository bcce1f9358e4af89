/*
summary: reach from one sort of the scores, which need no label for it
when: unweighted rows
*/
SELECT
    slice,
    score AS score_low,
    score AS score_high,
    total_positives + total_negatives - rank_among_all + 1 AS reach,
    total_positives
FROM (
    SELECT
        slice,
        score,
        RANK() OVER (PARTITION BY slice ORDER BY score) AS rank_among_all
    FROM predictions
) AS ranked
JOIN totals USING (slice)
