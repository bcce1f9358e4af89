/*
summary: >-
  precision_influences in two levels: sums over the lower buckets, and windows within a bucket, so
  that no window holds all rows
*/
SELECT
    units.slice,
    units.score_low,
    units.score_high,
    units.positives,
    units.positive_squares,
    units.tp,
    units.fp,
    units.fp_at_best,
    units.fp_squares,
    below.raised_below + SUM(units.raises) OVER (
        PARTITION BY units.slice, units.bucket ORDER BY units.score_low
    ) AS raised,
    below.lowered_below + SUM(units.lowers) OVER (
        PARTITION BY units.slice, units.bucket ORDER BY units.score_low
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS lowered
FROM (
    SELECT
        slice,
        bucket,
        score_low,
        score_high,
        positives,
        positive_squares,
        tp,
        fp,
        fp_at_best,
        fp_squares,
        positives * (CAST(fp AS DOUBLE) / POWER(CAST(tp + fp AS DOUBLE), 2)) AS raises,
        positives * (CAST(tp AS DOUBLE) / POWER(CAST(tp + fp AS DOUBLE), 2)) AS lowers
    FROM cutoffs
    WHERE positives > 0
) AS units
JOIN (
    SELECT
        slice,
        bucket,
        SUM(raises) OVER (
            PARTITION BY slice ORDER BY bucket
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - raises AS raised_below,
        SUM(lowers) OVER (
            PARTITION BY slice ORDER BY bucket
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - lowers AS lowered_below
    FROM (
        SELECT
            slice,
            bucket,
            SUM(positives * (CAST(fp AS DOUBLE) / POWER(CAST(tp + fp AS DOUBLE), 2))) AS raises,
            SUM(positives * (CAST(tp AS DOUBLE) / POWER(CAST(tp + fp AS DOUBLE), 2))) AS lowers
        FROM cutoffs
        WHERE positives > 0
        GROUP BY
            slice,
            bucket
    ) AS sums
) AS below USING (slice, bucket)
