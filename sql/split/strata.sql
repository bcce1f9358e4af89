/*
summary: >-
  number of units in each stratum and in the strata before it; the order of strata is the same on
  every engine
*/
SELECT
    stratum,
    units,
    CAST(
        COALESCE(
            SUM(units) OVER (
                ORDER BY MD5(stratum) ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            0
        ) AS BIGINT
    ) AS units_before,
    CAST(SUM(units) OVER () AS BIGINT) AS all_units,
    ROW_NUMBER() OVER (ORDER BY MD5(stratum)) AS stratum_number,
    COUNT(*) OVER () AS all_strata
FROM (
    SELECT
        stratum,
        COUNT(*) AS units
    FROM units
    GROUP BY stratum
) AS counted
