/*
summary: class_weights of binned scores, one row per bin
*/
SELECT
    slice,
    CAST(lowest AS DOUBLE) AS score_low,
    CAST(highest AS DOUBLE) AS score_high,
    bin_positives AS positives,
    bin_negatives AS negatives
FROM score_bins
