/*
summary: >-
  units from the highest score down, with tp and fp cumulative from the top, ties included; metrics
  do not depend on how the rows of one score are divided into units
*/
SELECT
    slice,
    score_low,
    score_high,
    positives,
    negatives,
    SUM(positives) OVER (
        PARTITION BY slice ORDER BY score_low DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS tp,
    SUM(negatives) OVER (
        PARTITION BY slice ORDER BY score_low DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS fp,
    -- fp if all positives of the bin come before its negatives: no order of its rows has fewer. A
    -- sum of its own, as fp minus the negatives of a heavy bin would lose the light ones above it.
    CASE
        WHEN score_low < score_high AND positives > 0
        THEN COALESCE(SUM(negatives) OVER (
            PARTITION BY slice ORDER BY score_low DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0)
        ELSE SUM(negatives) OVER (
            PARTITION BY slice ORDER BY score_low DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
    END AS fp_at_best,
    SUM(positives) OVER (PARTITION BY slice) AS total_positives,
    SUM(negatives) OVER (PARTITION BY slice) AS total_negatives
FROM score_counts
