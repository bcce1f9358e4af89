/*
summary: each distinct absolute error, and the rows up to it, which are its rank
*/
SELECT
    counts.slice,
    counts.amount,
    counts.mass,
    strips.mass_before + SUM(counts.mass) OVER (
        PARTITION BY counts.slice, counts.strip ORDER BY counts.amount
    ) AS reached,
    strips.total
FROM absolute_error_counts AS counts
JOIN (
    SELECT
        slice,
        strip,
        SUM(strip_mass) OVER (PARTITION BY slice ORDER BY strip) - strip_mass AS mass_before,
        SUM(strip_mass) OVER (PARTITION BY slice) AS total
    FROM (
        SELECT
            slice,
            strip,
            SUM(mass) AS strip_mass
        FROM absolute_error_counts
        GROUP BY
            slice,
            strip
    ) AS strip_sums
) AS strips USING (slice, strip)
