/*
summary: bounds of the threshold, which is the lowest score of a bin
*/
SELECT
    slice,
    CASE WHEN MAX(total_positives) > 0
        THEN MAX(CASE
            WHEN predicted_positives >= total_positives * (1e0 - 1e-12)
            THEN CAST(score_low AS DOUBLE)
        END)
    END AS low,
    CASE WHEN MAX(total_positives) > 0
        THEN MAX(CASE
            WHEN predicted_positives >= total_positives * (1e0 - 1e-12)
            THEN CAST(score_high AS DOUBLE)
        END)
    END AS high
FROM predicted_positives
GROUP BY slice
