/*
summary: precision and recall at each distinct score, from (recall 0, precision 1) or from the origin
formula: precision = tp / (tp + fp), recall = tp / P at score >= threshold
params:
  drop_intermediate: bool = false
  start: str in {one, origin} = one
order: threshold DESC, recall, precision DESC
band: [recall, precision, steps]
direction: higher
chart:
  title: Precision-recall curve
  x: [recall, Recall]
  y: [precision, Precision]
  diagonal: P = R
  steps: true # precision at the right end of each step of recall, as average precision has it
  metric: [AP, average_precision]
  facts: {prevalence: prevalence, break_even: break_even_point}
reference: sklearn.metrics.precision_recall_curve
aliases: [precision_recall_curve]
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    threshold,
    CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0) AS precision,
    CAST(tp AS DOUBLE) / NULLIF(total_positives, 0) AS recall
FROM (
    SELECT
        slice,
        threshold,
        fp,
        tp,
        total_positives,
        LAG(tp) OVER (PARTITION BY slice ORDER BY threshold DESC) AS tp_before,
        LEAD(tp) OVER (PARTITION BY slice ORDER BY threshold DESC) AS tp_below
    FROM segments
    WHERE tp + fp > tp_above + fp_above
) AS neighbours
-- Among points with equal recall, only the first and the last shape the curve.
WHERE
    NOT $drop_intermediate
    OR tp_before IS NULL
    OR tp_below IS NULL
    OR tp_below <> tp
    OR tp <> tp_before
UNION ALL
SELECT
    slice,
    CAST('Infinity' AS DOUBLE) AS threshold,
    CASE WHEN $start = 'origin' THEN 0e0 ELSE 1e0 END AS precision,
    CASE WHEN total_positives > 0 THEN 0e0 END AS recall
FROM totals
