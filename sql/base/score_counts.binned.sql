/*
summary: positives and negatives in each bin, whose rows count as if they shared one score
*/
SELECT
    slice,
    lowest AS score_low,
    highest AS score_high,
    bin_positives AS positives,
    bin_negatives AS negatives
FROM score_bins
