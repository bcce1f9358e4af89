/*
summary: absolute errors of the sample at the ranks z standard errors below and above the quantile
*/
SELECT
    slice,
    -- The number of rows below the quantile is binomial. Its ranks are normal here, corrected for
    -- continuity (Conover 1999, Practical nonparametric statistics, section 3.2). A rank below 1,
    -- or above the number of rows, has no value.
    MIN(
        CASE
            WHEN total * $q - $z * SQRT(total * $q * (1e0 - $q)) >= 5e-1
                AND reached > total * $q - $z * SQRT(total * $q * (1e0 - $q)) - 5e-1
            THEN amount
        END
    ) AS lower,
    MIN(
        CASE
            WHEN reached >= total * $q + $z * SQRT(total * $q * (1e0 - $q)) + 5e-1
            THEN amount
        END
    ) AS upper
FROM absolute_error_ranks
GROUP BY slice
