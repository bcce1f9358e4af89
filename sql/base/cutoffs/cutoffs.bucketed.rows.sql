/*
summary: >-
  cutoffs in two levels with one unit per row; rows are sent to another task once instead of twice
*/
SELECT
    units.slice,
    units.bucket,
    units.score AS score_low,
    units.score AS score_high,
    units.positives,
    units.negatives,
    units.positive_squares,
    units.negative_squares,
    bucket_offsets.positives_above,
    bucket_offsets.negatives_above,
    bucket_offsets.positive_squares_above,
    bucket_offsets.negative_squares_above,
    -- Without a frame, a window includes the rows of the same score.
    bucket_offsets.positives_above + SUM(units.positives) OVER (
        PARTITION BY units.slice, units.bucket ORDER BY units.score DESC
    ) AS tp,
    bucket_offsets.negatives_above + SUM(units.negatives) OVER (
        PARTITION BY units.slice, units.bucket ORDER BY units.score DESC
    ) AS fp,
    bucket_offsets.negatives_above + SUM(units.negatives) OVER (
        PARTITION BY units.slice, units.bucket ORDER BY units.score DESC
    ) AS fp_at_best,
    bucket_offsets.positive_squares_above + SUM(units.positive_squares) OVER (
        PARTITION BY units.slice, units.bucket ORDER BY units.score DESC
    ) AS tp_squares,
    bucket_offsets.negative_squares_above + SUM(units.negative_squares) OVER (
        PARTITION BY units.slice, units.bucket ORDER BY units.score DESC
    ) AS fp_squares,
    bucket_offsets.all_positives AS total_positives,
    bucket_offsets.all_negatives AS total_negatives
FROM (
    SELECT
        slice,
        bucket,
        score,
        CASE WHEN label = 1 THEN weight ELSE 0 END AS positives,
        CASE WHEN label = 0 THEN weight ELSE 0 END AS negatives,
        CASE WHEN label = 1 THEN squares ELSE 0 END AS positive_squares,
        CASE WHEN label = 0 THEN squares ELSE 0 END AS negative_squares
    FROM predictions
    WHERE weight > 0
) AS units
JOIN bucket_offsets USING (slice, bucket)
