/*
summary: each distinct label, its place from 0 on, and the rows up to it, in one window
*/
SELECT
    slice,
    label,
    strip,
    mass,
    ROW_NUMBER() OVER (PARTITION BY slice ORDER BY label) - 1 AS place,
    SUM(mass) OVER (PARTITION BY slice ORDER BY label) AS reached,
    COUNT(*) OVER (PARTITION BY slice) AS total_labels,
    SUM(mass) OVER (PARTITION BY slice) AS total
FROM label_value_counts
