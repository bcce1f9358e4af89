/*
summary: >-
  label and decision per bin if the threshold may lie inside a bin; one arrangement for each way to
  decide the rows of that bin: by the bin's score, all positive, none, only the positives, only the
  negatives
params:
  threshold: float = 0.5
when: thresholded binned
*/
WITH sided AS (
    SELECT
        slice,
        label,
        CASE WHEN score >= $threshold THEN 1 ELSE 0 END AS by_bin,
        -- The decision that all rows of the bin share; NULL if the threshold lies inside the bin.
        CASE WHEN score_low >= $threshold THEN 1 WHEN score_high < $threshold THEN 0 END AS side,
        weight,
        squares
    FROM predictions
)
SELECT
    slice,
    'tied' AS arrangement,
    label,
    COALESCE(side, by_bin) AS prediction,
    weight,
    squares
FROM sided
UNION ALL
SELECT
    slice,
    'all above' AS arrangement,
    label,
    COALESCE(side, 1) AS prediction,
    weight,
    squares
FROM sided
UNION ALL
SELECT
    slice,
    'none above' AS arrangement,
    label,
    COALESCE(side, 0) AS prediction,
    weight,
    squares
FROM sided
UNION ALL
SELECT
    slice,
    'positives above' AS arrangement,
    label,
    COALESCE(side, label) AS prediction,
    weight,
    squares
FROM sided
UNION ALL
SELECT
    slice,
    'negatives above' AS arrangement,
    label,
    COALESCE(side, 1 - label) AS prediction,
    weight,
    squares
FROM sided
