/*
summary: >-
  cutoffs in two levels: the rows above a bucket, and the rows within it at or above a score, so
  that no window holds all rows
*/
SELECT
    score_counts.slice,
    score_counts.bucket,
    score_counts.score_low,
    score_counts.score_high,
    score_counts.positives,
    score_counts.negatives,
    score_counts.positive_squares,
    score_counts.negative_squares,
    bucket_offsets.positives_above,
    bucket_offsets.negatives_above,
    bucket_offsets.positive_squares_above,
    bucket_offsets.negative_squares_above,
    -- Without a frame, a window includes the rows of the same score.
    bucket_offsets.positives_above + SUM(score_counts.positives) OVER (
        PARTITION BY score_counts.slice, score_counts.bucket ORDER BY score_counts.score_low DESC
    ) AS tp,
    bucket_offsets.negatives_above + SUM(score_counts.negatives) OVER (
        PARTITION BY score_counts.slice, score_counts.bucket ORDER BY score_counts.score_low DESC
    ) AS fp,
    bucket_offsets.negatives_above + SUM(score_counts.negatives) OVER (
        PARTITION BY score_counts.slice, score_counts.bucket ORDER BY score_counts.score_low DESC
    ) AS fp_at_best,
    bucket_offsets.positive_squares_above + SUM(score_counts.positive_squares) OVER (
        PARTITION BY score_counts.slice, score_counts.bucket ORDER BY score_counts.score_low DESC
    ) AS tp_squares,
    bucket_offsets.negative_squares_above + SUM(score_counts.negative_squares) OVER (
        PARTITION BY score_counts.slice, score_counts.bucket ORDER BY score_counts.score_low DESC
    ) AS fp_squares,
    bucket_offsets.all_positives AS total_positives,
    bucket_offsets.all_negatives AS total_negatives
FROM score_counts
JOIN bucket_offsets USING (slice, bucket)
