/*
summary: >-
  bounds of the largest distance between tpr and fpr, over all orders of the scores within a bin
*/
SELECT
    slice,
    -- Within a bin, all negatives or all positives may come first; at its ends both rates are
    -- exact.
    MAX(ABS(
        CAST(tp AS DOUBLE) / NULLIF(total_positives, 0)
        - CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0)
    )) AS low,
    MAX(GREATEST(
        ABS(
            CAST(tp AS DOUBLE) / NULLIF(total_positives, 0)
            - CAST(
                fp - CASE WHEN score_low < score_high THEN negatives ELSE 0 END AS DOUBLE
            ) / NULLIF(total_negatives, 0)
        ),
        ABS(
            CAST(
                tp - CASE WHEN score_low < score_high THEN positives ELSE 0 END AS DOUBLE
            ) / NULLIF(total_positives, 0)
            - CAST(fp AS DOUBLE) / NULLIF(total_negatives, 0)
        )
    )) AS high
FROM cutoffs
GROUP BY slice
