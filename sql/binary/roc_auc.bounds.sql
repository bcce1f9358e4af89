/*
summary: bounds of the ROC AUC, over all orders of the scores within a bin
*/
SELECT
    slice,
    -- Within a bin, each positive-negative pair may be in either order; value counts it as one
    -- half.
    5e-1 + CAST(
        SUM(negatives * tp - positives * fp)
        - SUM(CASE WHEN score_low < score_high THEN positives * negatives ELSE 0 END) AS DOUBLE
    ) / NULLIF(2e0 * SUM(positives) * SUM(negatives), 0) AS low,
    5e-1 + CAST(
        SUM(negatives * tp - positives * fp)
        + SUM(CASE WHEN score_low < score_high THEN positives * negatives ELSE 0 END) AS DOUBLE
    ) / NULLIF(2e0 * SUM(positives) * SUM(negatives), 0) AS high
FROM cutoffs
GROUP BY slice
