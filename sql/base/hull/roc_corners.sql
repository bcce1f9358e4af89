/*
summary: >-
  corners of the ROC curve, where it turns from up to right, with the moves from the corner before
  and to the corner after
*/
SELECT
    slice,
    threshold,
    fp,
    tp,
    total_positives,
    total_negatives,
    tp - COALESCE(LAG(tp) OVER (PARTITION BY slice ORDER BY tp, fp), 0) AS up_before,
    fp - COALESCE(LAG(fp) OVER (PARTITION BY slice ORDER BY tp, fp), 0)
        AS right_before,
    LEAD(tp) OVER (PARTITION BY slice ORDER BY tp, fp) - tp AS up_after,
    LEAD(fp) OVER (PARTITION BY slice ORDER BY tp, fp) - fp AS right_after
FROM segments
WHERE
    total_positives > 0
    AND total_negatives > 0
    AND (
        tp > tp_above
        -- The end of the curve, with a tolerance because sums of real-valued weights are rounded.
        OR fp > fp_above AND tp + fp >= (total_positives + total_negatives) * (1e0 - 1e-13)
    )
