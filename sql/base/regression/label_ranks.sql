/*
summary: each distinct label, its place from 0 on, and the rows up to it, which are its rank
*/
SELECT
    counts.slice,
    counts.label,
    counts.strip,
    counts.mass,
    strips.labels_before + ROW_NUMBER() OVER (
        PARTITION BY counts.slice, counts.strip ORDER BY counts.label
    ) - 1 AS place,
    strips.mass_before + SUM(counts.mass) OVER (
        PARTITION BY counts.slice, counts.strip ORDER BY counts.label
    ) AS reached,
    strips.total_labels,
    strips.total
FROM label_value_counts AS counts
JOIN (
    SELECT
        slice,
        strip,
        SUM(strip_labels) OVER (PARTITION BY slice ORDER BY strip) - strip_labels AS labels_before,
        SUM(strip_labels) OVER (PARTITION BY slice) AS total_labels,
        SUM(strip_mass) OVER (PARTITION BY slice ORDER BY strip) - strip_mass AS mass_before,
        SUM(strip_mass) OVER (PARTITION BY slice) AS total
    FROM (
        SELECT
            slice,
            strip,
            COUNT(*) AS strip_labels,
            SUM(mass) AS strip_mass
        FROM label_value_counts
        GROUP BY
            slice,
            strip
    ) AS strip_sums
) AS strips USING (slice, strip)
