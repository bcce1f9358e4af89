/*
summary: >-
  the rank sum of the rows on which a model loses more than the baseline, with the number of rows
  whose losses differ, the number of equal ones, and the correction for ties
reference: Wilcoxon (1945); scipy.stats.wilcoxon
*/
SELECT
    slice,
    SUM(more + less) AS differing,
    SUM(same) AS equal,
    -- Mean rank of a tie: the number of rows below it, plus the middle of the places within it.
    SUM(more * (rows_up_to - 5e-1 * (more + less) + 5e-1)) AS positive_ranks,
    SUM(POWER(more + less, 3) - (more + less)) AS ties
FROM (
    SELECT
        slice,
        more,
        less,
        same,
        SUM(more + less) OVER (
            PARTITION BY slice ORDER BY size
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS rows_up_to
    FROM (
        SELECT
            slice,
            ABS(loss - baseline_loss) AS size,
            SUM(CASE WHEN loss > baseline_loss THEN 1 ELSE 0 END) AS more,
            SUM(CASE WHEN loss < baseline_loss THEN 1 ELSE 0 END) AS less,
            SUM(CASE WHEN loss = baseline_loss THEN 1 ELSE 0 END) AS same
        FROM losses
        GROUP BY
            slice,
            ABS(loss - baseline_loss)
    ) AS sizes
) AS cumulated
GROUP BY slice
