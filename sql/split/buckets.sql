/*
summary: the first and the last place within its stratum that each part of the hashes takes
*/
SELECT
    counted.part,
    counted.bucket,
    counted.places_before AS first_place,
    counted.places_before + counted.members - 1 AS last_place,
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
