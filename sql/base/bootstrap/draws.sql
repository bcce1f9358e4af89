/*
summary: >-
  how often each replicate of the bootstrap draws from each cell: a Poisson count whose mean is the
  number of rows in the cell, the sum of one independent count per row
formula: drawn ~ Poisson(mean), independent over cells and replicates
reference: >-
  Hanley and MacGibbon (2006), Creating non-parametric bootstrap samples using Poisson frequencies
*/
SELECT
    slice,
    replicate,
    CAST(CASE
        -- For means up to 4, invert the distribution function, which is EXP(-mean) times a partial
        -- sum of the series of EXP(mean), here in Horner's scheme.
        WHEN mean <= 4e0 THEN CASE
            WHEN scaled < 1e0 THEN 0
            WHEN scaled < 1e0 + mean THEN 1
            WHEN scaled < 1e0 + mean * (1e0 + 1e0 * mean / 2e0) THEN 2
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + 1e0 * mean / 3e0) / 2e0) THEN 3
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + 1e0 * mean / 4e0) /
                3e0) / 2e0)
            THEN 4
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + 1e0 *
                mean / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 5
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + 1e0 * mean / 6e0) / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 6
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + 1e0 * mean / 7e0) / 6e0) / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 7
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + 1e0 * mean / 8e0) / 7e0) / 6e0) / 5e0) / 4e0) /
                3e0) / 2e0)
            THEN 8
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + 1e0 * mean / 9e0) / 8e0) / 7e0) /
                6e0) / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 9
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + 1e0 * mean / 10e0) /
                9e0) / 8e0) / 7e0) / 6e0) / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 10
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + 1e0 *
                mean / 11e0) / 10e0) / 9e0) / 8e0) / 7e0) / 6e0) / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 11
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + 1e0 * mean / 12e0) / 11e0) / 10e0) / 9e0) / 8e0) / 7e0) / 6e0) / 5e0) / 4e0)
                / 3e0) / 2e0)
            THEN 12
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + 1e0 * mean / 13e0) / 12e0) / 11e0) / 10e0) / 9e0) / 8e0) / 7e0)
                / 6e0) / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 13
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + 1e0 * mean / 14e0) / 13e0) / 12e0) / 11e0) /
                10e0) / 9e0) / 8e0) / 7e0) / 6e0) / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 14
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + 1e0 * mean / 15e0) / 14e0) / 13e0)
                / 12e0) / 11e0) / 10e0) / 9e0) / 8e0) / 7e0) / 6e0) / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 15
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + 1e0 * mean / 16e0) /
                15e0) / 14e0) / 13e0) / 12e0) / 11e0) / 10e0) / 9e0) / 8e0) / 7e0) / 6e0) / 5e0) /
                4e0) / 3e0) / 2e0)
            THEN 16
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + 1e0 *
                mean / 17e0) / 16e0) / 15e0) / 14e0) / 13e0) / 12e0) / 11e0) / 10e0) / 9e0) / 8e0) /
                7e0) / 6e0) / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 17
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + 1e0 * mean / 18e0) / 17e0) / 16e0) / 15e0) / 14e0) / 13e0) / 12e0) / 11e0) /
                10e0) / 9e0) / 8e0) / 7e0) / 6e0) / 5e0) / 4e0) / 3e0) / 2e0)
            THEN 18
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + 1e0 * mean / 19e0) / 18e0) / 17e0) / 16e0) / 15e0) / 14e0) /
                13e0) / 12e0) / 11e0) / 10e0) / 9e0) / 8e0) / 7e0) / 6e0) / 5e0) / 4e0) / 3e0) /
                2e0)
            THEN 19
            WHEN scaled < 1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean * (1e0 + mean *
                (1e0 + mean * (1e0 + mean * (1e0 + 1e0 * mean / 20e0) / 19e0) / 18e0) / 17e0) /
                16e0) / 15e0) / 14e0) / 13e0) / 12e0) / 11e0) / 10e0) / 9e0) / 8e0) / 7e0) / 6e0) /
                5e0) / 4e0) / 3e0) / 2e0)
            THEN 20
            ELSE 21
        END
        -- For larger means, round the expansion of Cornish and Fisher (1938) around the normal
        -- quantile. Rounding adds 1/12 to the variance, so 1/12 is subtracted before. The mean is
        -- within 0.03 % and the variance within 0.2 % of the exact ones, and closer for larger
        -- means.
        ELSE GREATEST(
            FLOOR(
                mean + SQRT(mean - 1e0 / 1.2e1) * z
                + mean * (z * z - 1e0) / NULLIF(6e0 * (mean - 1e0 / 1.2e1), 0)
                + 1e0 * (z - z * z * z) / NULLIF(7.2e1 * SQRT(mean - 1e0 / 1.2e1), 0)
                + 5e-1
            ),
            0e0
        )
    END AS BIGINT) AS drawn
FROM (
    SELECT
        slice,
        replicate,
        mean,
        CASE WHEN mean <= 4e0 THEN share * EXP(mean) END AS scaled,
        -- The normal quantile by rational functions: Acklam (2003), within 1.2e-9.
        CASE
            WHEN mean <= 4e0 THEN NULL
            WHEN root IS NOT NULL THEN side * (
                ((((-7.784894002430293e-3 * root - 3.223964580411365e-1)
                * root - 2.400758277161838e0)
                * root - 2.549732539343734e0)
                * root + 4.374664141464968e0)
                * root + 2.938163982698783e0
            ) / NULLIF(
                (((7.784695709041462e-3 * root + 3.224671290700398e-1)
                * root + 2.445134137142996e0)
                * root + 3.754408661907416e0)
                * root + 1e0,
                0
            )
            ELSE (share - 5e-1) * (
                ((((-3.969683028665376e1 * square + 2.209460984245205e2)
                * square - 2.759285104469687e2)
                * square + 1.383577518672690e2)
                * square - 3.066479806614716e1)
                * square + 2.506628277459239e0
            ) / NULLIF(
                ((((-5.447609879822406e1 * square + 1.615858368580409e2)
                * square - 1.556989798598866e2)
                * square + 6.680131188771972e1)
                * square - 1.328068155288572e1)
                * square + 1e0,
                0
            )
        END AS z
    FROM (
        SELECT
            slice,
            replicate,
            mean,
            share,
            (share - 5e-1) * (share - 5e-1) AS square,
            CASE WHEN share < 5e-1 THEN 1e0 ELSE -1e0 END AS side,
            -- Only in the two tails; the centre has its own formula.
            CASE
                WHEN LEAST(share, 1e0 - share) < 2.425e-2
                THEN SQRT(-2e0 * LN(LEAST(share, 1e0 - share)))
            END AS root
        FROM uniforms
    ) AS folded
) AS quantiles
