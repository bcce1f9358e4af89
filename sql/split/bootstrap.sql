/*
summary: >-
  as many rows as there are, drawn with replacement, to train on; those never drawn, the
  out-of-bag rows, to test on
formula: in_bag_count is how often a row is drawn; (1 - 1/m)^m, near 36.8 %, are never drawn
reference: Efron and Tibshirani (1993), An Introduction to the Bootstrap
since: 0.1.0
*/
SELECT
    slice,
    repeat,
    1 AS fold,
    CASE
        WHEN nth = 1 THEN 'train'
        ELSE 'test'
    END AS role,
    CASE
        WHEN nth = 1 THEN drawn
        ELSE 0
    END AS in_bag_count
FROM (
    -- Each hash is a draw: m shares of 1 thrown into m bins fill them as draws with replacement do.
    -- Whose counts these are is as random as the hashes are: the first in a bin has all of it.
    SELECT
        slice,
        repeat,
        ROW_NUMBER() OVER (PARTITION BY repeat, stratum, bin ORDER BY digest) AS nth,
        COUNT(*) OVER (PARTITION BY repeat, stratum, bin) AS drawn
    FROM (
        SELECT
            hashes.slice,
            hashes.repeat,
            hashes.stratum,
            hashes.digest,
            FLOOR(hashes.share * strata.units) AS bin
        FROM hashes
        JOIN strata USING (stratum)
    ) AS thrown
) AS binned
