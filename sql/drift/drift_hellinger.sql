/*
summary: >-
  Hellinger distance of the shares of the categories: 0 if they are equal, 1 if no category has rows
  of both
formula: sqrt(sum over categories of (sqrt(p) - sqrt(q))^2 / 2)
range: 0 .. 1
reference: "Hellinger (1909), doi:10.1515/crll.1909.136.210"
*/
SELECT
    slice,
    SQRT(5e-1 * SUM(POWER(SQRT(reference_share) - SQRT(current_share), 2))) AS drift,
    COUNT(reference_share) AS categories
FROM drift_shares
GROUP BY slice
