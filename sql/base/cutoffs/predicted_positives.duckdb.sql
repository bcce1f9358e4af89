/*
summary: >-
  predicted_positives, only at the first score that has at least as many predicted positives as
  there are positives: scores are counted by their leading bits, and only the group with that score
  is ranked
when: unweighted rows
*/
WITH counted AS (
    SELECT
        slice,
        coarse_score,
        COUNT(*) AS n,
        SUM(label) AS positives
    FROM rounded_scores
    GROUP BY
        slice,
        coarse_score
),

running AS (
    SELECT
        slice,
        coarse_score,
        n,
        SUM(n) OVER (
            PARTITION BY slice ORDER BY coarse_score DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS reached,
        SUM(positives) OVER (PARTITION BY slice) AS total_positives
    FROM counted
),

crossed AS (
    SELECT
        slice,
        coarse_score,
        reached,
        total_positives
    FROM running
    WHERE
        reached >= total_positives
        -- Without positives, the highest group is kept, because the note needs a row.
        AND reached - n < GREATEST(total_positives, 1)
)

SELECT
    rounded_scores.slice,
    rounded_scores.score AS score_low,
    rounded_scores.score AS score_high,
    crossed.reached + 1 - RANK() OVER (
        PARTITION BY rounded_scores.slice ORDER BY rounded_scores.score
    ) AS predicted_positives,
    crossed.total_positives
FROM rounded_scores
JOIN crossed USING (slice, coarse_score)
