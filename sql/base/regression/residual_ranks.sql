/*
summary: per bin of the prediction and distinct residual, the rows, and the rows of the bin up to it
*/
SELECT
    counts.slice,
    counts.number,
    counts.residual,
    counts.prediction_mean,
    counts.mass,
    strips.mass_before + SUM(counts.mass) OVER (
        PARTITION BY counts.slice, counts.number, counts.strip ORDER BY counts.residual
    ) AS reached,
    strips.total
FROM residual_counts AS counts
JOIN (
    SELECT
        slice,
        number,
        strip,
        SUM(strip_mass) OVER (PARTITION BY slice, number ORDER BY strip) - strip_mass AS mass_before,
        SUM(strip_mass) OVER (PARTITION BY slice, number) AS total
    FROM (
        SELECT
            slice,
            number,
            strip,
            SUM(mass) AS strip_mass
        FROM residual_counts
        GROUP BY
            slice,
            number,
            strip
    ) AS strip_sums
) AS strips USING (slice, number, strip)
