/*
summary: coarse bins from the highest score down, with tp and fp cumulative from the top
*/
SELECT
    slice,
    bin,
    positives,
    negatives,
    SUM(positives) OVER (
        PARTITION BY slice ORDER BY bin DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS tp,
    SUM(negatives) OVER (
        PARTITION BY slice ORDER BY bin DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS fp,
    SUM(positives) OVER (PARTITION BY slice) AS total_positives,
    SUM(negatives) OVER (PARTITION BY slice) AS total_negatives
FROM coarse_bins
