/*
summary: >-
  each bin's label beside the decision at a threshold that may lie within the bin; the bin's rows
  are then decided by the bin, or all, none, its positives or its negatives are above
params:
  threshold: float = 0.5
when: thresholded binned
*/
SELECT
    slice,
    'tied' AS arrangement,
    label,
    CASE
        WHEN score_low >= $threshold THEN 1
        WHEN score_high < $threshold THEN 0
        ELSE CASE WHEN score >= $threshold THEN 1 ELSE 0 END
    END AS prediction,
    weight
FROM predictions
UNION ALL
SELECT
    slice,
    'all above' AS arrangement,
    label,
    CASE
        WHEN score_low >= $threshold THEN 1
        WHEN score_high < $threshold THEN 0
        ELSE 1
    END AS prediction,
    weight
FROM predictions
UNION ALL
SELECT
    slice,
    'none above' AS arrangement,
    label,
    CASE
        WHEN score_low >= $threshold THEN 1
        WHEN score_high < $threshold THEN 0
        ELSE 0
    END AS prediction,
    weight
FROM predictions
UNION ALL
SELECT
    slice,
    'positives above' AS arrangement,
    label,
    CASE
        WHEN score_low >= $threshold THEN 1
        WHEN score_high < $threshold THEN 0
        ELSE label
    END AS prediction,
    weight
FROM predictions
UNION ALL
SELECT
    slice,
    'negatives above' AS arrangement,
    label,
    CASE
        WHEN score_low >= $threshold THEN 1
        WHEN score_high < $threshold THEN 0
        ELSE 1 - label
    END AS prediction,
    weight
FROM predictions
