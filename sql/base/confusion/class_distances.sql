/*
summary: >-
  per class: its place among all classes in order, and its mean distance from the class of a random
  prediction and of a random label; classes with total weight 0 are left out
params:
  weights: str in {linear, quadratic} = null
*/
SELECT
    slice,
    class,
    place,
    actual,
    predicted,
    total,
    n_classes,
    -- Means of the distances |i - j| and (i - j)^2 over j, from cumulative sums; without weights=
    -- the distance of two classes is 1.
    CAST(CASE
        WHEN $weights = 'linear'
        THEN place * (2e0 * predicted_so_far - total) - 2e0 * predicted_places_so_far
            + predicted_places
        WHEN $weights = 'quadratic'
        THEN place * place * total - 2e0 * place * predicted_places + predicted_squares
        ELSE total - predicted
    END AS DOUBLE) / NULLIF(total, 0) AS from_predictions,
    CAST(CASE
        WHEN $weights = 'linear'
        THEN place * (2e0 * actual_so_far - total) - 2e0 * actual_places_so_far + actual_places
        WHEN $weights = 'quadratic'
        THEN place * place * total - 2e0 * place * actual_places + actual_squares
        ELSE total - actual
    END AS DOUBLE) / NULLIF(total, 0) AS from_labels
FROM (
    SELECT
        slice,
        class,
        place,
        actual,
        predicted,
        total,
        MAX(place) OVER (PARTITION BY slice) AS n_classes,
        SUM(actual * place) OVER (PARTITION BY slice) AS actual_places,
        SUM(predicted * place) OVER (PARTITION BY slice) AS predicted_places,
        SUM(actual * place * place) OVER (PARTITION BY slice) AS actual_squares,
        SUM(predicted * place * place) OVER (PARTITION BY slice) AS predicted_squares,
        SUM(actual) OVER (
            PARTITION BY slice ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS actual_so_far,
        SUM(predicted) OVER (
            PARTITION BY slice ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS predicted_so_far,
        SUM(actual * place) OVER (
            PARTITION BY slice ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS actual_places_so_far,
        SUM(predicted * place) OVER (
            PARTITION BY slice ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS predicted_places_so_far
    FROM (
        SELECT
            slice,
            class,
            actual,
            predicted,
            total,
            1e0 * ROW_NUMBER() OVER (PARTITION BY slice ORDER BY class) AS place
        FROM class_totals
    ) AS placed
) AS cumulative
