/*
summary: absolute errors of the sample at the ranks z standard errors below and above the median
*/
SELECT
    slice,
    -- As in quantile.ranks.sql, with q = 1/2.
    MIN(
        CASE
            WHEN total - $z * SQRT(total) >= 1e0 AND 2e0 * reached > total - $z * SQRT(total) - 1e0
            THEN amount
        END
    ) AS lower,
    MIN(CASE WHEN 2e0 * reached >= total + $z * SQRT(total) + 1e0 THEN amount END) AS upper
FROM absolute_error_ranks
GROUP BY slice
