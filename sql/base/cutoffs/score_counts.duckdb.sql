/*
summary: >-
  score_counts by a lookup of each negative among the scores of the positives, faster than grouping
  or sorting all scores; a negative that ties with no positive is a unit of its own
when: unweighted rows
*/
WITH looked_up AS (
    SELECT
        predictions.slice,
        predictions.score,
        positive_scores.positives
    FROM predictions
    LEFT JOIN positive_scores USING (slice, score)
    WHERE predictions.label = 0
),

shared AS (
    SELECT
        slice,
        score,
        COUNT(*) AS n
    FROM looked_up
    WHERE positives IS NOT NULL
    GROUP BY
        slice,
        score
)

SELECT
    slice,
    score AS score_low,
    score AS score_high,
    0 AS positives,
    1 AS negatives,
    0 AS positive_squares,
    1 AS negative_squares
FROM looked_up
WHERE positives IS NULL
UNION ALL
SELECT
    positive_scores.slice,
    positive_scores.score AS score_low,
    positive_scores.score AS score_high,
    positive_scores.positives,
    COALESCE(shared.n, 0) AS negatives,
    positive_scores.positives AS positive_squares,
    COALESCE(shared.n, 0) AS negative_squares
FROM positive_scores
LEFT JOIN shared USING (slice, score)
