/*
summary: >-
  label_digits, with the rows of its block up to the prediction and from it on whose digit is below
  1, 2, 3 and 4
*/
-- In two levels, so that no window holds all rows of a block: the strips before or after a strip,
-- and the rows within it.
SELECT
    digits.slice,
    digits.label,
    digits.prediction,
    digits.pair_mass,
    digits.digit,
    strips.before_1 + SUM(CASE WHEN digits.digit < 1 THEN digits.pair_mass ELSE 0e0 END) OVER (
        PARTITION BY digits.slice, digits.level, digits.block, digits.strip ORDER BY digits.prediction
    ) AS up_1,
    strips.before_2 + SUM(CASE WHEN digits.digit < 2 THEN digits.pair_mass ELSE 0e0 END) OVER (
        PARTITION BY digits.slice, digits.level, digits.block, digits.strip ORDER BY digits.prediction
    ) AS up_2,
    strips.before_3 + SUM(CASE WHEN digits.digit < 3 THEN digits.pair_mass ELSE 0e0 END) OVER (
        PARTITION BY digits.slice, digits.level, digits.block, digits.strip ORDER BY digits.prediction
    ) AS up_3,
    strips.before_4 + SUM(digits.pair_mass) OVER (
        PARTITION BY digits.slice, digits.level, digits.block, digits.strip ORDER BY digits.prediction
    ) AS up_4,
    strips.after_1 + SUM(CASE WHEN digits.digit < 1 THEN digits.pair_mass ELSE 0e0 END) OVER (
        PARTITION BY digits.slice, digits.level, digits.block, digits.strip ORDER BY digits.prediction DESC
    ) AS down_1,
    strips.after_2 + SUM(CASE WHEN digits.digit < 2 THEN digits.pair_mass ELSE 0e0 END) OVER (
        PARTITION BY digits.slice, digits.level, digits.block, digits.strip ORDER BY digits.prediction DESC
    ) AS down_2,
    strips.after_3 + SUM(CASE WHEN digits.digit < 3 THEN digits.pair_mass ELSE 0e0 END) OVER (
        PARTITION BY digits.slice, digits.level, digits.block, digits.strip ORDER BY digits.prediction DESC
    ) AS down_3,
    strips.after_4 + SUM(digits.pair_mass) OVER (
        PARTITION BY digits.slice, digits.level, digits.block, digits.strip ORDER BY digits.prediction DESC
    ) AS down_4
FROM label_digits AS digits
JOIN (
    SELECT
        slice,
        level,
        block,
        strip,
        SUM(strip_1) OVER (PARTITION BY slice, level, block ORDER BY strip) - strip_1 AS before_1,
        SUM(strip_2) OVER (PARTITION BY slice, level, block ORDER BY strip) - strip_2 AS before_2,
        SUM(strip_3) OVER (PARTITION BY slice, level, block ORDER BY strip) - strip_3 AS before_3,
        SUM(strip_4) OVER (PARTITION BY slice, level, block ORDER BY strip) - strip_4 AS before_4,
        SUM(strip_1) OVER (PARTITION BY slice, level, block ORDER BY strip DESC) - strip_1 AS after_1,
        SUM(strip_2) OVER (PARTITION BY slice, level, block ORDER BY strip DESC) - strip_2 AS after_2,
        SUM(strip_3) OVER (PARTITION BY slice, level, block ORDER BY strip DESC) - strip_3 AS after_3,
        SUM(strip_4) OVER (PARTITION BY slice, level, block ORDER BY strip DESC) - strip_4 AS after_4
    FROM (
        SELECT
            slice,
            level,
            block,
            strip,
            SUM(CASE WHEN digit < 1 THEN pair_mass ELSE 0e0 END) AS strip_1,
            SUM(CASE WHEN digit < 2 THEN pair_mass ELSE 0e0 END) AS strip_2,
            SUM(CASE WHEN digit < 3 THEN pair_mass ELSE 0e0 END) AS strip_3,
            SUM(pair_mass) AS strip_4
        FROM label_digits
        GROUP BY
            slice,
            level,
            block,
            strip
    ) AS strip_sums
) AS strips USING (slice, level, block, strip)
