/*
summary: how many units each stratum has, and how many those before it, in an order that is the same on every engine
*/
SELECT
    stratum,
    units,
    COALESCE(
        SUM(units) OVER (ORDER BY MD5(stratum) ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0
    ) AS units_before,
    SUM(units) OVER () AS all_units
FROM (
    SELECT
        stratum,
        COUNT(*) AS units
    FROM units
    GROUP BY stratum
) AS counted
