/*
summary: cutoffs whose units are bins; fp_at_best is fp if the positives of a bin come first
*/
SELECT
    slice,
    score_low,
    score_high,
    positives,
    negatives,
    positive_squares,
    negative_squares,
    tp,
    fp,
    tp_squares,
    fp_squares,
    -- The smallest fp over all orders of a bin's rows. It is read from the next higher bin, because
    -- fp minus the negatives of a heavy bin would lose the light ones above it.
    CASE
        WHEN score_low < score_high AND positives > 0
        THEN COALESCE(LAG(fp) OVER (PARTITION BY slice ORDER BY score_low DESC), 0)
        ELSE fp
    END AS fp_at_best,
    total_positives,
    total_negatives
FROM (
    SELECT
        slice,
        score_low,
        score_high,
        positives,
        negatives,
        positive_squares,
        negative_squares,
        SUM(positives) OVER (
            PARTITION BY slice ORDER BY score_low DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS tp,
        SUM(negatives) OVER (
            PARTITION BY slice ORDER BY score_low DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS fp,
        SUM(positive_squares) OVER (
            PARTITION BY slice ORDER BY score_low DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS tp_squares,
        SUM(negative_squares) OVER (
            PARTITION BY slice ORDER BY score_low DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS fp_squares,
        SUM(positives) OVER (PARTITION BY slice) AS total_positives,
        SUM(negatives) OVER (PARTITION BY slice) AS total_negatives
    FROM score_counts
) AS cumulative
