/*
summary: >-
  the bins in three arrangements: the rows of a bin tied, its positives above its negatives, its
  negatives above its positives; no order of the rows has a ROC curve above the second or below the
  third
when: binned
*/
WITH marked AS (
    SELECT
        slice,
        lowest,
        highest,
        bin_positives,
        bin_negatives,
        bin_positive_squares,
        bin_negative_squares,
        CASE WHEN lowest < highest AND bin_positives > 0 AND bin_negatives > 0 THEN 1 ELSE 0 END
            AS is_mixed
    FROM score_bins
)
SELECT
    slice,
    'tied' AS arrangement,
    lowest AS score_low,
    highest AS score_high,
    bin_positives AS positives,
    bin_negatives AS negatives,
    bin_positive_squares AS positive_squares,
    bin_negative_squares AS negative_squares
FROM marked
UNION ALL
SELECT
    slice,
    'positives first' AS arrangement,
    CASE WHEN is_mixed = 1 THEN highest ELSE lowest END AS score_low,
    highest AS score_high,
    bin_positives AS positives,
    CASE WHEN is_mixed = 1 THEN 0 ELSE bin_negatives END AS negatives,
    bin_positive_squares AS positive_squares,
    CASE WHEN is_mixed = 1 THEN 0 ELSE bin_negative_squares END AS negative_squares
FROM marked
UNION ALL
SELECT
    slice,
    'positives first' AS arrangement,
    lowest AS score_low,
    lowest AS score_high,
    0 AS positives,
    bin_negatives AS negatives,
    0 AS positive_squares,
    bin_negative_squares AS negative_squares
FROM marked
WHERE is_mixed = 1
UNION ALL
SELECT
    slice,
    'negatives first' AS arrangement,
    CASE WHEN is_mixed = 1 THEN highest ELSE lowest END AS score_low,
    highest AS score_high,
    CASE WHEN is_mixed = 1 THEN 0 ELSE bin_positives END AS positives,
    bin_negatives AS negatives,
    CASE WHEN is_mixed = 1 THEN 0 ELSE bin_positive_squares END AS positive_squares,
    bin_negative_squares AS negative_squares
FROM marked
UNION ALL
SELECT
    slice,
    'negatives first' AS arrangement,
    lowest AS score_low,
    lowest AS score_high,
    bin_positives AS positives,
    0 AS negatives,
    bin_positive_squares AS positive_squares,
    0 AS negative_squares
FROM marked
WHERE is_mixed = 1
