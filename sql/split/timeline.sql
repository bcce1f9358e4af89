/*
summary: number of units earlier than each time
*/
SELECT
    time,
    COALESCE(
        SUM(units) OVER (ORDER BY time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0
    ) AS units_before,
    SUM(units) OVER () AS all_units
FROM (
    SELECT
        time,
        COUNT(*) AS units
    FROM units
    GROUP BY time
) AS counted
