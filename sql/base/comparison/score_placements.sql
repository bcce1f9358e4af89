/*
summary: >-
  the weight of the positives and of the negatives below a score, ties counting one half, in two
  levels: below its bucket, and within it
*/
SELECT
    pair_scores.slice,
    pair_scores.side,
    pair_scores.score,
    pair_buckets.positives_below + SUM(pair_scores.positives) OVER (
        PARTITION BY pair_scores.slice, pair_scores.side, pair_scores.bucket
        ORDER BY pair_scores.score
    ) - 5e-1 * pair_scores.positives AS positives_beaten,
    pair_buckets.negatives_below + SUM(pair_scores.negatives) OVER (
        PARTITION BY pair_scores.slice, pair_scores.side, pair_scores.bucket
        ORDER BY pair_scores.score
    ) - 5e-1 * pair_scores.negatives AS negatives_beaten
FROM pair_scores
JOIN pair_buckets USING (slice, side, bucket)
