/*
summary: >-
  units from the highest score down, with tp and fp cumulative from the top, ties included, and the
  sums of squared weights beside each; metrics do not depend on how the rows of one score are divided
  into units
*/
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
    SUM(negatives) OVER (
        PARTITION BY slice ORDER BY score_low DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS fp_at_best,
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
