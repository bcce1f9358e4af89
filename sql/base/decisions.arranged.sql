/*
summary: >-
  each bin's label beside the decision at a threshold that may lie within the bin; the bin's rows
  are then decided by the bin, or all, none, its positives or its negatives are above
params:
  threshold: float = 0.5
when: thresholded binned
*/
WITH sided AS (
    SELECT
        slice,
        label,
        CASE WHEN score >= $threshold THEN 1 ELSE 0 END AS by_bin,
        -- On which side all rows of the bin are.
        CASE WHEN score_low >= $threshold THEN 1 WHEN score_high < $threshold THEN 0 END AS side,
        weight
    FROM predictions
)
SELECT
    slice,
    'tied' AS arrangement,
    label,
    COALESCE(side, by_bin) AS prediction,
    weight
FROM sided
UNION ALL
SELECT
    slice,
    'all above' AS arrangement,
    label,
    COALESCE(side, 1) AS prediction,
    weight
FROM sided
UNION ALL
SELECT
    slice,
    'none above' AS arrangement,
    label,
    COALESCE(side, 0) AS prediction,
    weight
FROM sided
UNION ALL
SELECT
    slice,
    'positives above' AS arrangement,
    label,
    COALESCE(side, label) AS prediction,
    weight
FROM sided
UNION ALL
SELECT
    slice,
    'negatives above' AS arrangement,
    label,
    COALESCE(side, 1 - label) AS prediction,
    weight
FROM sided
