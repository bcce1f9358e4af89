/*
summary: >-
  per bucket of hashes: its first place within the stratum, and whether it is whole: no fold can end
  inside a whole bucket; fold j ends within k places of j / k of the units, as fold sizes differ by
  at most one
params:
  n_splits: series in [2, 10000] = 10
*/
SELECT
    counted.part,
    counted.bucket,
    counted.places_before AS first_place,
    CASE
        WHEN
            FLOOR(
                CAST((counted.places_before - $n_splits) * $n_splits AS DOUBLE)
                / NULLIF(strata.units, 0)
            )
            = FLOOR(
                CAST((counted.places_before + counted.members - 1 + $n_splits) * $n_splits AS DOUBLE)
                / NULLIF(strata.units, 0)
            )
            THEN 1
        ELSE 0
    END AS whole,
    strata.units,
    strata.units_before
FROM (
    SELECT
        part,
        bucket,
        stratum_number,
        members,
        CAST(
            COALESCE(
                SUM(members) OVER (
                    PARTITION BY part
                    ORDER BY bucket
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ),
                0
            ) AS BIGINT
        ) AS places_before
    FROM (
        SELECT
            part,
            bucket,
            stratum_number,
            COUNT(*) AS members
        FROM thin
        GROUP BY part, bucket, stratum_number
    ) AS numbers
) AS counted
JOIN strata USING (stratum_number)
