/*
summary: >-
  each row's rank and row number by ascending score, among all rows and within its own class;
  own_reached counts the rows of its class with this score or a lower one
*/
SELECT
    slice,
    label,
    score,
    RANK() OVER (PARTITION BY slice ORDER BY score) AS rank_among_all,
    ROW_NUMBER() OVER (PARTITION BY slice ORDER BY score) AS place,
    LEAD(score) OVER (PARTITION BY slice ORDER BY score) AS next_score,
    RANK() OVER (PARTITION BY slice, label ORDER BY score) AS own_rank,
    -- The default frame includes all rows of the same score.
    COUNT(*) OVER (PARTITION BY slice, label ORDER BY score) AS own_reached
FROM predictions
