/*
summary: >-
  area under the lower envelope of the cost lines: the mean normalized cost if every probability
  cost is equally likely
formula: integral over x from 0 to 1 of the least FPR (1 - x) + FNR x over all thresholds
direction: lower
range: 0 .. 0.5
reference: Drummond and Holte (2006), doi:10.1007/s10994-006-8199-5
task: two classes
weights: frequency
units: runs
since: 0.1.0
*/
SELECT
    slice,
    CASE WHEN MAX(positives) > 0 AND MAX(negatives) > 0 THEN SUM(area) END AS value,
    CASE
        WHEN MAX(positives) = 0 THEN 'no positive labels'
        WHEN MAX(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM (
    SELECT
        slice,
        5e-1 * (x - x_before) * (y + y_before) AS area,
        0 AS positives,
        0 AS negatives
    FROM (
        SELECT
            slice,
            probability_cost AS x,
            normalized_cost AS y,
            LAG(probability_cost) OVER (PARTITION BY slice ORDER BY probability_cost) AS x_before,
            LAG(normalized_cost) OVER (PARTITION BY slice ORDER BY probability_cost) AS y_before
        FROM cost_envelope
    ) AS sides
    UNION ALL
    SELECT
        slice,
        0e0 AS area,
        total_positives AS positives,
        total_negatives AS negatives
    FROM totals
) AS parts
GROUP BY slice
