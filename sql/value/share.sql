/*
summary: share of rows whose value is 1, of values that are 0 and 1
formula: sum(w [x = 1]) / sum(w)
direction: higher
range: 0 .. 1
test: mcnemar
reference: numpy.average
task: value
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CAST(SUM(weight * amount) AS DOUBLE)
        / NULLIF(CASE WHEN SUM(is_other) = 0 THEN SUM(weight) END, 0) AS value,
    CASE WHEN SUM(is_other) = 0 THEN SUM(weight * amount) END AS successes,
    CASE WHEN SUM(is_other) = 0 THEN SUM(weight) END AS trials,
    -- The square of a value of 0 or 1 is the value itself.
    SUM(squares * amount_centre) AS squared_successes,
    SUM(squares) AS squared_trials,
    CASE
        WHEN SUM(is_other) > 0 THEN 'values other than 0 and 1'
        WHEN SUM(weight) = 0 THEN 'total weight is 0'
    END AS note
FROM amounts
WHERE weight > 0
GROUP BY slice
