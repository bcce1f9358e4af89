/*
summary: per class, rows with this label and all rows; needs neither scores nor predictions
when: unscored
*/
SELECT
    slice,
    class,
    support AS positives,
    SUM(support) OVER (PARTITION BY slice) AS total,
    support_squares AS positive_squares,
    SUM(support_squares) OVER (PARTITION BY slice) AS total_squares
FROM class_support
