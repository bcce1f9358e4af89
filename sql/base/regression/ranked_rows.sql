/*
summary: >-
  each row with the ranks of its label and prediction: the share of rows below and half of the rows
  with an equal value, less 1/2
*/
SELECT
    predictions.slice,
    predictions.label,
    predictions.prediction,
    predictions.label
        - CAST(prediction_ranks.total_labels AS DOUBLE) / NULLIF(prediction_ranks.total, 0)
        AS label_deviation,
    CAST(label_ranks.reached - 5e-1 * label_ranks.mass AS DOUBLE)
        / NULLIF(label_ranks.total, 0) - 5e-1 AS label_rank,
    CAST(prediction_ranks.reached - 5e-1 * prediction_ranks.mass AS DOUBLE)
        / NULLIF(prediction_ranks.total, 0) - 5e-1 AS prediction_rank,
    label_ranks.strip AS label_strip,
    prediction_ranks.strip AS prediction_strip,
    predictions.weight,
    predictions.squares,
    predictions.n_rows
FROM predictions
JOIN label_ranks USING (slice, label)
JOIN prediction_ranks USING (slice, prediction)
WHERE predictions.weight > 0
