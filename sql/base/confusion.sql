/*
summary: how often each label met each prediction; n is a count, or a sum of weights
types: {label: class, prediction: class, n: count}
*/
SELECT
    slice,
    label,
    prediction,
    SUM(weight) AS n
FROM decisions
GROUP BY
    slice,
    label,
    prediction
