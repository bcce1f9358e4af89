/*
summary: >-
  rows of `placed_units` by slice and tie, without the first row of each tie, which counts with the
  rows outside of ties (`tie` is NULL), and whose label is `first_label`; a tie is a cell
across: slices
*/
-- Shifts of bits take a fraction of the time of divisions.
SELECT
    slice_start,
    tie,
    SUM(label * place) AS places,
    SUM(label) AS labels,
    COUNT(*) AS n,
    MIN(label_before) AS first_label
FROM (
    SELECT
        (unit >> bits) * width AS slice_start,
        CASE WHEN unit >> 1 = unit_before >> 1 THEN unit - (unit & 1) END AS tie,
        unit & 1 AS label,
        place,
        unit_before & 1 AS label_before
    FROM placed_units
    CROSS JOIN unit_scale
) AS units
GROUP BY
    slice_start,
    tie
