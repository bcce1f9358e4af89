/*
summary: sum of the values
formula: sum(w x)
direction: none
range: -inf .. inf
reference: numpy.sum
task: value
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(SUM(weight * amount) AS DOUBLE) AS value
FROM amounts
WHERE weight > 0
GROUP BY slice
