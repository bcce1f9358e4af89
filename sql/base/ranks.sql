/*
summary: >-
  each row's places from below: among all rows and among those of its own label, the place of its
  score (rank), how many score no more (reached), and whether its score ends with it
*/
SELECT
    slice,
    label,
    score,
    RANK() OVER (PARTITION BY slice ORDER BY score) AS rank_among_all,
    ROW_NUMBER() OVER (PARTITION BY slice ORDER BY score) AS place,
    LEAD(score) OVER (PARTITION BY slice ORDER BY score) AS next_score,
    RANK() OVER (PARTITION BY slice, label ORDER BY score) AS own_rank,
    -- The default frame takes in all rows of the same score.
    COUNT(*) OVER (PARTITION BY slice, label ORDER BY score) AS own_reached
FROM predictions
