/*
summary: >-
  area under the precision-recall curve by straight lines between its points, from (recall 0,
  precision 1); usually too high, because the curve is not linear there
formula: sum over thresholds of (recall_i - recall_(i-1)) (precision_i + precision_(i-1)) / 2
direction: higher
range: 0 .. 1
interval: delta
reference: sklearn.metrics.auc # of sklearn.metrics.precision_recall_curve
task: two classes
weights: frequency
bound: precision
units: runs
since: 0.1.0
*/
SELECT
    slice,
    5e-1 * SUM(
        (tp - tp_above) * (
            CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0)
            + COALESCE(CAST(tp_above AS DOUBLE) / NULLIF(tp_above + fp_above, 0), 1e0)
        )
    ) / NULLIF(MAX(total_positives), 0) AS value,
    CASE WHEN COALESCE(MAX(total_positives), 0) = 0 THEN 'no positive labels' END AS note
FROM segments
GROUP BY slice
