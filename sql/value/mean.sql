/*
summary: mean of the values
formula: sum(w x) / sum(w)
direction: higher
range: -inf .. inf
reference: numpy.average
task: value
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(SUM(weight * amount) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM amounts
WHERE weight > 0
GROUP BY slice
