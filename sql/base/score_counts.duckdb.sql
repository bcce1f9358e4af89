/*
summary: >-
  score_counts from one sort, faster than grouping when scores are distinct; where the last row of a
  score stands, and where its rows and those of its label begin, tell how many there are
when: unweighted rows
*/
SELECT
    slice,
    score AS score_low,
    score AS score_high,
    label * (place - pair_rank + 1) AS positives,
    place - rank_among_all + 1 - label * (place - pair_rank + 1) AS negatives
FROM (
    SELECT
        slice,
        label,
        score,
        RANK() OVER (PARTITION BY slice ORDER BY score) AS rank_among_all,
        ROW_NUMBER() OVER (PARTITION BY slice ORDER BY score, label) AS place,
        RANK() OVER (PARTITION BY slice ORDER BY score, label) AS pair_rank,
        LEAD(score) OVER (PARTITION BY slice ORDER BY score, label) AS next_score
    FROM predictions
) AS placed
WHERE next_score IS NULL OR next_score > score
