/*
summary: positives and negatives below each bucket of the scores of a model and of the baseline
*/
SELECT
    slice,
    side,
    bucket,
    SUM(positives) OVER (
        PARTITION BY slice, side ORDER BY bucket
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - positives AS positives_below,
    SUM(negatives) OVER (
        PARTITION BY slice, side ORDER BY bucket
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - negatives AS negatives_below
FROM (
    SELECT
        slice,
        side,
        bucket,
        SUM(CASE WHEN label = 1 THEN weight ELSE 0 END) AS positives,
        SUM(CASE WHEN label = 0 THEN weight ELSE 0 END) AS negatives
    FROM pair_sides
    GROUP BY
        slice,
        side,
        bucket
) AS totals
