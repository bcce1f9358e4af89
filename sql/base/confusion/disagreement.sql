/*
summary: >-
  per label and prediction: the distance of the two classes, the mean distance of each from the
  classes of random predictions and labels, and the mean distances over all rows, observed and
  expected
params:
  weights: str in {linear, quadratic} = null
*/
SELECT
    slice,
    n,
    n_squares,
    actual,
    predicted,
    total,
    n_classes,
    distance,
    from_predictions,
    from_labels,
    CAST(SUM(n * distance) OVER (PARTITION BY slice) AS DOUBLE) / NULLIF(total, 0) AS observed,
    CAST(SUM(n * from_predictions) OVER (PARTITION BY slice) AS DOUBLE) / NULLIF(total, 0)
        AS expected
FROM (
    SELECT
        labelled.slice,
        labelled.n,
        labelled.n_squares,
        labelled.actual,
        of_prediction.predicted,
        labelled.total,
        labelled.n_classes,
        labelled.from_predictions,
        of_prediction.from_labels,
        CASE
            WHEN $weights = 'linear'
            THEN ABS(labelled.label_place - of_prediction.prediction_place)
            WHEN $weights = 'quadratic'
            THEN (labelled.label_place - of_prediction.prediction_place)
                * (labelled.label_place - of_prediction.prediction_place)
            WHEN labelled.label_place = of_prediction.prediction_place THEN 0e0
            ELSE 1e0
        END AS distance
    FROM (
        -- One join each: after several, ClickHouse gives a column of one relation the name of both.
        SELECT
            decision_counts.slice,
            decision_counts.label,
            decision_counts.prediction,
            decision_counts.n,
            decision_counts.n_squares,
            of_label.actual,
            of_label.total,
            of_label.n_classes,
            of_label.label_place,
            of_label.from_predictions
        FROM decision_counts
        JOIN (
            SELECT
                slice,
                class AS label,
                place AS label_place,
                actual,
                total,
                n_classes,
                from_predictions
            FROM class_distances
        ) AS of_label USING (slice, label)
    ) AS labelled
    JOIN (
        SELECT
            slice,
            class AS prediction,
            place AS prediction_place,
            predicted,
            from_labels
        FROM class_distances
    ) AS of_prediction USING (slice, prediction)
) AS cells
