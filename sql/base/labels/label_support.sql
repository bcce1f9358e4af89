/*
summary: per label, number of rows that have it, or their total weight
*/
SELECT
    slice,
    positives AS support
FROM label_counts
