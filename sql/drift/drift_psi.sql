/*
summary: >-
  population stability index: how much the shares of the categories differ, on a logarithmic scale;
  an empty category counts as a small share
formula: sum over categories of (q - p) ln(q / p)
range: 0 ..
reference: "Siddiqi (2006), Credit Risk Scorecards; Yurdakul and Naranjo (2020), doi:10.21314/JRMV.2020.227"
params: {empty: "float in (0, 0.5] = 0.0001"}
*/
SELECT
    slice,
    SUM((q - p) * LN(CAST(q AS DOUBLE) / NULLIF(p, 0))) AS drift,
    COUNT(p) AS categories,
    SUM(CASE WHEN reference_share = 0 OR current_share = 0 THEN 1 ELSE 0 END) AS empty_categories
FROM (
    SELECT
        slice,
        reference_share,
        current_share,
        CASE WHEN reference_share = 0 THEN $empty ELSE reference_share END AS p,
        CASE WHEN current_share = 0 THEN $empty ELSE current_share END AS q
    FROM drift_shares
) AS shares
GROUP BY slice
