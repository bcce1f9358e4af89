/*
summary: reference and current rows at each distinct score, or in each score bin
*/
SELECT
    slice,
    score,
    MIN(lowest) AS score_low,
    MAX(highest) AS score_high,
    SUM(of_reference) AS reference_rows,
    SUM(of_current) AS current_rows
FROM drift_scores
GROUP BY
    slice,
    score
