/*
summary: per class, rows with this label and all rows; needs neither scores nor predictions
when: unscored
*/
SELECT
    slice,
    class,
    support AS positives,
    SUM(support) OVER (PARTITION BY slice) AS total
FROM class_support
