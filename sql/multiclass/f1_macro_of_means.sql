/*
summary: harmonic mean of macro precision and macro recall, the second definition of macro F1
formula: 2 P R / (P + R), P and R the means over the matrices where they are defined
direction: higher
range: 0 .. 1
reference: Sokolova and Lapalme (2009), doi:10.1016/j.ipm.2009.03.002
task: several classes
weights: frequency
across: matrices
since: 0.1.0
*/
SELECT
    slice,
    2e0 * AVG(CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0))
        * AVG(CAST(tp AS DOUBLE) / NULLIF(tp + fn, 0))
        / NULLIF(
            AVG(CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0))
            + AVG(CAST(tp AS DOUBLE) / NULLIF(tp + fn, 0)),
            0
        ) AS value,
    CASE
        WHEN SUM(tp + fn) = 0 THEN 'total weight is 0'
        WHEN SUM(tp) = 0 THEN 'no prediction is right: precision and recall are 0'
    END AS note
FROM outcomes
GROUP BY slice
