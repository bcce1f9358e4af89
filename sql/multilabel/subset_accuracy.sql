/*
summary: share of rows whose labels are all predicted correctly
formula: mean of 1 if fp + fn = 0, else 0
direction: higher
range: 0 .. 1
reference: sklearn.metrics.accuracy_score
aliases: [exact_match, exact_match_ratio]
task: many labels
weights: frequency
since: 0.2.0
*/
SELECT
    slice,
    CASE WHEN fp + fn = 0 THEN 1e0 ELSE 0e0 END AS value
FROM outcomes
