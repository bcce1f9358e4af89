/*
summary: >-
  fold in which each group is tested: groups are dealt out in alternating direction, the largest
  first in each stratum, so that folds have about equally many rows unless one group is very large
params:
  n_splits: series in [2, 10000] = 10
*/
SELECT
    slice,
    repeat,
    CASE
        WHEN turn - 2 * FLOOR(CAST(turn AS DOUBLE) / 2) = 0
            THEN 1 + CAST(place - $n_splits * turn AS BIGINT)
        ELSE $n_splits - CAST(place - $n_splits * turn AS BIGINT)
    END AS fold
FROM (
    SELECT
        slice,
        repeat,
        place,
        CAST(FLOOR(CAST(place AS DOUBLE) / NULLIF($n_splits, 0)) AS BIGINT) AS turn
    FROM (
        SELECT
            slice,
            repeat,
            ROW_NUMBER() OVER (
                PARTITION BY repeat
                ORDER BY MD5(stratum), members DESC, digest
            ) - 1 AS place
        FROM hashes
    ) AS dealt
) AS turns
