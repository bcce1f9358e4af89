/*
summary: >-
  cutoffs in two levels with one unit per row, whose rows are sent to another task once and not
  twice
*/
SELECT
    units.slice,
    units.bucket,
    units.score AS score_low,
    units.score AS score_high,
    units.positives,
    units.negatives,
    bucket_offsets.positives_above,
    bucket_offsets.negatives_above,
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
    bucket_offsets.all_positives AS total_positives,
    bucket_offsets.all_negatives AS total_negatives
FROM (
    SELECT
        slice,
        bucket,
        score,
        CASE WHEN label = 1 THEN weight ELSE 0 END AS positives,
        CASE WHEN label = 0 THEN weight ELSE 0 END AS negatives
    FROM predictions
    WHERE weight > 0
) AS units
JOIN bucket_offsets USING (slice, bucket)
