/*
summary: >-
  label_digits, with the rows of its block up to the prediction and from it on whose digit is below
  1, 2, 3 and 4
*/
SELECT
    slice,
    label,
    prediction,
    pair_mass,
    digit,
    SUM(CASE WHEN digit < 1 THEN pair_mass ELSE 0e0 END)
        OVER (PARTITION BY slice, level, block ORDER BY prediction) AS up_1,
    SUM(CASE WHEN digit < 2 THEN pair_mass ELSE 0e0 END)
        OVER (PARTITION BY slice, level, block ORDER BY prediction) AS up_2,
    SUM(CASE WHEN digit < 3 THEN pair_mass ELSE 0e0 END)
        OVER (PARTITION BY slice, level, block ORDER BY prediction) AS up_3,
    SUM(pair_mass)
        OVER (PARTITION BY slice, level, block ORDER BY prediction) AS up_4,
    SUM(CASE WHEN digit < 1 THEN pair_mass ELSE 0e0 END)
        OVER (PARTITION BY slice, level, block ORDER BY prediction DESC) AS down_1,
    SUM(CASE WHEN digit < 2 THEN pair_mass ELSE 0e0 END)
        OVER (PARTITION BY slice, level, block ORDER BY prediction DESC) AS down_2,
    SUM(CASE WHEN digit < 3 THEN pair_mass ELSE 0e0 END)
        OVER (PARTITION BY slice, level, block ORDER BY prediction DESC) AS down_3,
    SUM(pair_mass)
        OVER (PARTITION BY slice, level, block ORDER BY prediction DESC) AS down_4
FROM label_digits
