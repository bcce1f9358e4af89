/*
summary: each distinct value, and the rows up to it, which are its rank
*/
SELECT
    counts.slice,
    counts.amount,
    strips.n_before + SUM(counts.n) OVER (
        PARTITION BY counts.slice, counts.strip ORDER BY counts.amount
    ) AS reached,
    strips.total
FROM value_strips AS counts
JOIN (
    SELECT
        slice,
        strip,
        SUM(strip_n) OVER (PARTITION BY slice ORDER BY strip) - strip_n AS n_before,
        SUM(strip_n) OVER (PARTITION BY slice) AS total
    FROM (
        SELECT
            slice,
            strip,
            SUM(n) AS strip_n
        FROM value_strips
        GROUP BY
            slice,
            strip
    ) AS strip_sums
) AS strips USING (slice, strip)
