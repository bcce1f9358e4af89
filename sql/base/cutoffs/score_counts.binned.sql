/*
summary: positives and negatives per bin; the rows of a bin count as tied
*/
SELECT
    slice,
    lowest AS score_low,
    highest AS score_high,
    bin_positives AS positives,
    bin_negatives AS negatives,
    bin_positive_squares AS positive_squares,
    bin_negative_squares AS negative_squares
FROM score_bins
