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
            ABS(difference) AS size,
            SUM(CASE WHEN difference > 0 THEN 1 ELSE 0 END) AS more,
            SUM(CASE WHEN difference < 0 THEN 1 ELSE 0 END) AS less,
            SUM(CASE WHEN difference = 0 THEN 1 ELSE 0 END) AS same
        FROM (
            SELECT
                slice,
                -- Equal values may differ in their last digits (1 / 3, and 1 - 2 / 3),
                -- and these must not decide ranks. So differences are rounded to 40 bits, by
                -- splitting (Dekker 1971).
                CASE
                    WHEN loss = baseline_loss
                        OR ABS(gap) <= 1e-12 * GREATEST(ABS(loss), ABS(baseline_loss)) THEN 0e0
                    WHEN ABS(gap) > 1e290 THEN gap
                    ELSE 8193e0 * gap - (8193e0 * gap - gap)
                END AS difference
            FROM (
                SELECT
                    slice,
                    loss,
                    baseline_loss,
                    CAST(loss AS DOUBLE) - baseline_loss AS gap
                FROM losses
            ) AS gaps
        ) AS differences
        GROUP BY
            slice,
            ABS(difference)
    ) AS sizes
) AS cumulated
GROUP BY slice
