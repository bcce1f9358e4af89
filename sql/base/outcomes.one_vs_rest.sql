/*
summary: true and false positives and negatives of each class against the others
*/
SELECT
    slice,
    class,
    matched AS tp,
    predicted - matched AS fp,
    actual - matched AS fn,
    total - actual - predicted + matched AS tn
FROM (
    SELECT
        slice,
        class,
        actual,
        predicted,
        matched,
        SUM(actual) OVER (PARTITION BY slice) AS total
    FROM class_counts
) AS counts
