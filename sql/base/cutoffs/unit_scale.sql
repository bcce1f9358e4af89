/*
summary: >-
  the range of whole numbers that each slice has in `score_units`: `width` numbers, of which `zero`
  stands for a score of 0, and `scale` for a distance of 1
across: slices
*/
-- All numbers have 62 bits: `bits` for the place in a slice, the rest for the slice. Powers of two,
-- so that a product with `scale` is exact.
SELECT
    bits,
    CAST(POWER(2e0, bits) AS BIGINT) AS width,
    CAST(POWER(2e0, bits - 2) AS BIGINT) AS zero,
    CAST(POWER(2e0, bits - 3) AS BIGINT) AS scale
FROM (
    SELECT 62 - CAST(CEIL(LN(MAX(slice_number) + 1e0) / LN(2e0)) AS BIGINT) AS bits
    FROM slices
) AS counted
