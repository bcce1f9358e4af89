/*
summary: >-
  train on as many rows as there are, drawn with replacement; test on the rows never drawn
  (out-of-bag)
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
    -- The hashes of m units, as shares of 1, fall into m bins like m draws with replacement. The
    -- first unit of a bin gets the whole count of the bin, the others are not drawn; which unit is
    -- first is as random as the hashes.
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
