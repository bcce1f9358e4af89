/*
summary: number of rows with a value; with weights, their sum
formula: sum(w)
direction: none
range: 0 .. inf
reference: numpy.size
task: value
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(SUM(weight) AS DOUBLE) AS value
FROM amounts
WHERE weight > 0
GROUP BY slice
